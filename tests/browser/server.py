"""The whole product as a user starts it, on a free port, with the network cable out."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
START_LIMIT_S = 90
STOP_LIMIT_S = 10
# Nothing listens there: whatever the server asks of another machine fails at once.
NO_NETWORK = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), f"http://{HOST}:9"),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), f"{HOST},localhost"),
}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


class AppServer:
    """`streamlit run app.py` in a process of its own; its output goes to `log`."""

    def __init__(self, log: Path, port: int | None = None, *, script: str = "app.py") -> None:
        self.log = log
        self.script = script
        self.port = port or free_port()
        self.url = f"http://{HOST}:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = {"port": self.port, "address": HOST, "headless": "true"}
        flags = [f"--server.{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "streamlit", "run", self.script, *flags]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **NO_NETWORK, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_LIMIT_S
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the server must start; its output was:\n{self.output()}")
            time.sleep(0.1)

    def healthy(self) -> bool:
        """Whether the server answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def output(self) -> str:
        """What the server has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End the server, politely first, and then whatever it started and left behind."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process = None
