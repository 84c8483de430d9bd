"""One process, one model, one way to run it: asked in JSON lines, answers in JSON lines.

Its first line says that it is ready; each run of a text answers with its time and by how much the
process's memory grew at its peak. `python -m tests.bench.peers.worker WAY FOLDER THREADS LIMIT`,
where LIMIT is how many bytes of memory it may have, so that nothing else on the machine is ended.
"""

import ctypes
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peers.modest import be_modest

WARM_UP = 8  # tokens: touches every weight, so that reading them from the file is no growth
STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def status(name: str) -> int:
    """VmRSS or VmHWM, bytes."""
    return 1024 * int(STATUS.read_text(encoding="ascii").partition(f"{name}:")[2].split()[0])


def settled() -> int:
    """What the process holds once freed memory is given back, where its peak begins anew."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    PEAK.write_text("5", encoding="ascii")  # the peak is now what is held now
    return status("VmRSS")


def measured(run: Any, ids: Any) -> tuple[Any, dict[str, float]]:
    """A run's result, what it took in ms, and its peak over what was held before, in bytes."""
    before = settled()
    start = time.perf_counter()
    result = run(ids)
    ms = 1e3 * (time.perf_counter() - start)
    return result, {"ms": ms, "growth": status("VmHWM") - before, "held": before}


def sample(way: Any, result: Any, sizes: tuple[int, int], length: int) -> dict[str, Any]:
    """What all must agree on: the last logits, and of every head two rows."""
    rows = (length // 2, length - 1)
    found = {"logits": way.logits(result).numpy()}
    if way.row is not None:
        found["patterns"] = np.array(
            [
                [way.row(result, layer, head, row).numpy() for row in rows]
                for layer in range(sizes[0])
                for head in range(sizes[1])
            ]
        )
    return found


def main(name: str, folder: str, threads: str, limit: str) -> None:
    be_modest(int(limit))
    import torch

    from tests.bench.peers.ways import WAYS

    torch.set_num_threads(int(threads))
    way = WAYS[name]
    run = way.open(Path(folder))
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    with torch.inference_mode():
        run(torch.arange(WARM_UP)[None])
        answer({"ready": True})
        for line in sys.stdin:
            asked = json.loads(line)
            ids = torch.tensor([asked["ids"]])
            result, taken = measured(run, ids)
            if asked.get("sample"):
                sizes = (config["n_layer"], config["n_head"])
                np.savez(asked["sample"], **sample(way, result, sizes, len(asked["ids"])))
            del result
            settled()  # the next process needs the memory
            answer(taken)


def answer(told: dict[str, Any]) -> None:
    sys.__stdout__.write(json.dumps(told) + "\n")
    sys.__stdout__.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
