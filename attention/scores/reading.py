"""One pass over a layer's patterns: the compiled core reads them, or torch block by block."""

import torch

from attention.capture import WORTH_COMPILING, capture_core
from attention.capture.choice import CHOICE
from attention.capture.scan import Scanner
from attention.layer_record import LayerRecord
from attention.pooling import blocks
from attention.progress import Progress
from attention.scores.blocks import blocks_of
from attention.scores.tallies import Tallies
from attention.thumbnails import Thumbnails

CELLS_A_CALL = 1 << 24  # weights that the compiled core reads before it tells how far it is


def one_pass(
    layer: LayerRecord,
    tallies: Tallies,
    thumbnails: Thumbnails | None = None,
    progress: Progress | None = None,
) -> None:
    """Tally, and pool if asked for, all rows of all heads of a layer.

    Args:
        layer: whose rows.
        tallies: of the metrics, empty as yet.
        thumbnails: empty as yet; None where only scores are wanted.
        progress: called after each block of rows; what it raises ends the work.
    """
    if _compiled(layer, tallies, thumbnails, progress):
        return
    seq_len = layer.q.shape[1]
    for block in blocks_of(layer, tallies.ids, step=thumbnails.step if thumbnails else 1):
        tallies.add(block)
        if thumbnails is not None:
            thumbnails.add(block)
        if progress is not None:
            progress(len(block.ids) / seq_len)


def _compiled(
    layer: LayerRecord,
    tallies: Tallies,
    thumbnails: Thumbnails | None,
    progress: Progress | None,
) -> bool:
    """The same by the compiled core, where there is one that can; whether it could."""
    scanner = _scanner(layer, tallies, thumbnails)
    if scanner is None:
        return False
    num_heads, seq_len, _ = layer.q.shape
    try:
        for rows in blocks(seq_len, 1, CELLS_A_CALL // num_heads):
            scanner.read(rows)
            if progress is not None:
                progress(rows.stop / seq_len)
    except MemoryError:
        return False  # block by block may need less, or says so in torch's words
    tallies.take(scanner)
    if thumbnails is not None:
        thumbnails.take(scanner.squares)
    return True


def _scanner(layer: LayerRecord, tallies: Tallies, thumbnails: Thumbnails | None) -> Scanner | None:
    """What reads a plain causal layer; small ones don't wait until it is compiled."""
    num_heads, seq_len, _ = layer.q.shape
    rule, wide = layer.rule, torch.promote_types(layer.q.dtype, torch.float32)
    plain = rule.soft_cap is None and (rule.window is None or rule.window >= seq_len)
    on_cpu = layer.q.device.type == "cpu" and not layer.q.requires_grad
    if not (plain and on_cpu and wide == torch.float32 and tallies.readable):
        return None
    large = num_heads * seq_len**2 >= WORTH_COMPILING
    core = (capture_core() if large else CHOICE.get_at_once()).native
    q, k = layer.q.to(wide), layer.k.to(wide)
    if core is None or not core.takes(q, k, None):
        return None
    if thumbnails is None:
        return core.scanner(q, k, scale=rule.scale, wanted=tallies.wanted())
    wanted = tallies.wanted(step=thumbnails.step, hide_first=thumbnails.hide_first)
    return core.scanner(q, k, scale=rule.scale, wanted=wanted)
