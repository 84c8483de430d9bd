"""A measuring process that does as it is told."""

import json
import sys

import pytest

from attention.benchmark import process
from attention.benchmark.measurement import Measurement

# A measuring process that needs no torch: dies, hangs or answers as {what} says of each name.
SCRIPT = """
import json, os, signal, sys, time
what = {what}
def send(line):
    print(json.dumps(line), flush=True)
for text in sys.stdin:
    asked = json.loads(text)
    for name in asked["settings"]["implementations"]:
        send({{"begin": name}})
        if what.get(name) == "die":
            sys.exit("no kernel for " + name)
        if what.get(name) == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what.get(name) == "hang":
            print("computing " + name, file=sys.stderr, flush=True)
            time.sleep(3600)
    send({{"begin": None}})
    if what.get("all") == "die":
        sys.exit("all is lost")
    for name in asked["settings"]["implementations"]:
        send({{"measurement": {{**json.loads({empty!r}), "implementation": name, "equal": True,
              "num_heads": asked["num_heads"], "samples": [1.0]}}}})
    send({{"done": True}})
"""
EMPTY = json.dumps(Measurement(implementation="", num_heads=1, head_dim=5, d_out=15).to_json())


@pytest.fixture
def script(monkeypatch):
    """Processes that do as they are told."""

    def install(**what):
        text = SCRIPT.format(what=what, empty=EMPTY)
        monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", text))

    return install
