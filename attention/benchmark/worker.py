"""The process that measures: `python -m attention.benchmark.worker`, JSON lines in and out.

A request is `{"settings": ..., "num_heads": n}`. The answer is a line `{"measurement": ...}`
for each implementation, or one `{"error": sentence}`, and then `{"done": true}`. In between come
`{"begin": name}`, which implementation has its turn alone (null: all are timed in turns), and
`{"waiting": true}` while another benchmark on this machine has its turn. A request with
`"trace": name` is answered by one line `{"trace": ...}` in place of the measurements.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import torch

from attention.benchmark.layer import build, prepare
from attention.benchmark.measure import measure
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.trace import trace
from attention.benchmark.turn import turn, turn_file
from attention.errors import HeadscopeError

OOM_SCORE = Path("/proc/self/oom_score_adj")


def main() -> None:
    """Answer requests until the asking process closes its end, or dies."""
    answers = _own_stdout()
    _volunteer_for_the_oom_killer()
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def send(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    while True:
        request = json.loads(requests.get())
        with turn(turn_file(), lambda: send({"waiting": True})):
            for line in answer(request, send):
                send(line)


def answer(
    request: dict[str, Any], send: Callable[[dict[str, Any]], None] = lambda line: None
) -> Iterator[dict[str, Any]]:
    """Measure or trace at one head count; the lines of the answer, as they come.

    Args:
        request: what is asked.
        send: takes the lines that tell which implementation has its turn.
    """

    def begin(name: str | None) -> None:
        send({"begin": name})

    try:
        settings = BenchmarkSettings.from_json(request["settings"])
        torch.set_num_threads(settings.threads)  # for the exact result too: the page has the rest
        if "trace" in request:
            layer = prepare(settings, request["num_heads"])
            yield {"trace": trace(build(layer, request["trace"]), layer.x).to_json()}
        else:
            for measurement in measure(settings, request["num_heads"], begin):
                yield {"measurement": measurement.to_json()}
    except HeadscopeError as error:
        yield {"error": str(error)}
    yield {"done": True}


def _listen(requests: queue.SimpleQueue[str]) -> None:
    """Queue the requests; when there can be no more, end at once, even in a measurement."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)


def _own_stdout() -> IO[str]:
    """Keep stdout for the answers: whatever a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _volunteer_for_the_oom_killer() -> None:
    """Where memory runs out, Linux shall end this process and not the page or the browser."""
    if OOM_SCORE.exists():
        OOM_SCORE.write_text("1000", encoding="ascii")


if __name__ == "__main__":
    main()
