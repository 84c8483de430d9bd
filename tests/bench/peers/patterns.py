"""A peer's page of random causal patterns, made in a process of its own.

`python -m tests.bench.peers.patterns TOOL LAYERS HEADS T FILE LIMIT` writes the HTML that the tool
makes of patterns in memory, and says in JSON how many ms that took; LIMIT is in bytes of memory.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from tests.bench.peers.modest import be_modest


def causal(layers: int, heads: int, length: int) -> list[Tensor]:
    """Random patterns, the same every time: for each layer (1, head, query, key)."""
    generator = torch.Generator().manual_seed(0)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    made = []
    for _ in range(layers):
        scores = 2 * torch.randn(1, heads, length, length, generator=generator)
        made.append(scores.masked_fill_(later, -torch.inf).softmax(dim=-1))
    return made


def names(length: int) -> list[str]:
    """Of the tokens."""
    return [f"t{position}" for position in range(length)]


def head_view(layers: list[Tensor], tokens: list[str]) -> str:
    from bertviz import head_view as view

    return str(view(layers, tokens, html_action="return").data)


def model_view(layers: list[Tensor], tokens: list[str]) -> str:
    from bertviz import model_view as view

    return str(view(layers, tokens, html_action="return").data)


def attention_heads(layers: list[Tensor], tokens: list[str]) -> str:
    """As it is shown where there is no network: with its script in it."""
    from circuitsvis.attention import attention_heads as view

    return str(
        view(torch.cat([layer[0] for layer in layers]), tokens, mask_upper_tri=True).local_src
    )


Maker = Callable[[list[Tensor], list[str]], str]
MAKERS: dict[str, tuple[str, Maker]] = {
    "head_view": ("BertViz `head_view`", head_view),
    "model_view": ("BertViz `model_view`", model_view),
    "attention_heads": ("CircuitsVis `attention_heads`", attention_heads),
}


def page(shown: str) -> str:
    """What a notebook puts around it."""
    head = '<!doctype html><html><head><meta charset="utf-8"></head><body>\n'
    return f"{head}{shown}\n</body></html>"


def main(tool: str, layers: str, heads: str, length: str, path: str, limit: str) -> None:
    be_modest(int(limit))
    made, tokens = causal(int(layers), int(heads), int(length)), names(int(length))
    make = MAKERS[tool][1]
    make(causal(1, 1, 4), names(4))  # imports
    start = time.perf_counter()
    shown = make(made, tokens)
    ms = 1e3 * (time.perf_counter() - start)
    Path(path).write_text(page(shown), encoding="utf-8")
    sys.stdout.write(json.dumps({"ms": ms, "bytes": Path(path).stat().st_size}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
