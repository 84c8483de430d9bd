"""Every way to run a text and have all heads' patterns: how it is opened, run and looked into."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

Run = Callable[[Tensor], Any]  # ids (1, pos) to a result that keeps what it keeps
Row = Callable[[Any, int, int, int], Tensor]  # result, layer, head, query to that row's weights
Logits = Callable[[Any], Tensor]  # result to the last token's logits


@dataclass(frozen=True)
class Way:
    """One way.

    Attributes:
        title: in a table.
        open: the model's folder to what runs a text.
        logits: the last token's.
        row: of a pattern; None where there are no patterns.
        held: patterns of all heads in memory at once, in copies; to know what would not fit.
        scores: T × T scores of one layer's heads that are held while it runs, about.
        all_logits: whether those of every token are in memory.
    """

    title: str
    open: Callable[[Path], Run]
    logits: Logits
    row: Row | None = None
    held: int = 0
    scores: int = 0
    all_logits: bool = True

    def needed(self, length: int, sizes: tuple[int, int, int]) -> int:
        """Bytes of what grows with the square of the length, and of the logits.

        Args:
            length: tokens.
            sizes: layers, heads, vocabulary.
        """
        layers, heads, vocab = sizes
        cells = heads * length**2 * (self.held * layers + self.scores)
        return 4 * (cells + (length * vocab if self.all_logits else 0))


def _transformers(how: str, **asked: Any) -> Callable[[Path], Run]:
    def opened(folder: Path) -> Run:
        from transformers import GPT2LMHeadModel

        model = GPT2LMHeadModel.from_pretrained(folder, attn_implementation=how).eval()
        return lambda ids: model(ids, use_cache=False, **asked)

    return opened


def _transformer_lens(only: str | None) -> Callable[[Path], Run]:
    def opened(folder: Path) -> Run:
        from transformer_lens.model_bridge import TransformerBridge

        model = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=torch.float32)
        wanted = None if only is None else lambda name: name.endswith(only)
        return lambda ids: model.run_with_cache(ids, names_filter=wanted)

    return opened


def _headscope(*, read: bool) -> Callable[[Path], Run]:
    def opened(folder: Path) -> Run:
        from attention import load_model

        model = load_model(str(folder))

        def run(ids: Tensor) -> Any:
            record = model.run(ids[0].tolist())
            for layer in range(record.num_layers if read else 0):
                for head in range(record.num_heads):
                    record.pattern(layer, head)
            return record

        return run

    return opened


def _lens_row(result: Any, layer: int, head: int, query: int) -> Tensor:
    row: Tensor = result[1][f"blocks.{layer}.attn.hook_pattern"][0, head, query]
    return row


def _our_row(record: Any, layer: int, head: int, query: int) -> Tensor:
    return torch.from_numpy(record.pattern(layer, head, rows=slice(query, query + 1))[0])


def _theirs(title: str, opened: Callable[[Path], Run], **more: Any) -> Way:
    """Of transformers."""
    return Way(title, opened, logits=lambda out: out.logits[0, -1], **more)


def _attended(out: Any, layer: int, head: int, query: int) -> Tensor:
    row: Tensor = out.attentions[layer][0, head, query]
    return row


def _ours(title: str, *, read: bool) -> Way:
    def logits(record: Any) -> Tensor:
        last: Tensor = record.logits_at(slice(-1, None))[0]
        return last

    return Way(title, _headscope(read=read), logits, _our_row, all_logits=False)


EAGER, EAGER_LAST, SDPA = "eager", "eager-last", "sdpa"
LENS, LENS_ALL, RECORD, READ = "lens", "lens-all", "record", "read"
WAYS = {
    EAGER: _theirs(
        "transformers, eager, `output_attentions`",
        _transformers("eager", output_attentions=True),
        row=_attended,
        held=1,
        scores=2,
    ),
    EAGER_LAST: _theirs(
        "the same, last token's logits alone",
        _transformers("eager", output_attentions=True, logits_to_keep=1),
        row=_attended,
        held=1,
        scores=2,
        all_logits=False,
    ),
    SDPA: _theirs("transformers, SDPA, no patterns", _transformers("sdpa")),
    LENS: Way(
        "TransformerLens, `run_with_cache` of the patterns alone",
        _transformer_lens("hook_pattern"),
        lambda result: result[0][0, -1],
        _lens_row,
        held=1,
        scores=2,
    ),
    LENS_ALL: Way(
        "TransformerLens, `run_with_cache` of everything",
        _transformer_lens(None),
        lambda result: result[0][0, -1],
        _lens_row,
        held=2,
        scores=2,
    ),
    RECORD: _ours("Headscope, the record kept", read=False),
    READ: _ours("Headscope, and every head's pattern read once", read=True),
}
