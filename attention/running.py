"""One forward pass of a text, of which each layer's q, k and v and the read-out are kept."""

from collections.abc import Iterable
from functools import partial

import torch

from attention.blocks import LayerObservation
from attention.decoding import Attention
from attention.layer_record import LayerRecord
from attention.origin import Origin
from attention.prefix import Prefix, find_prefix
from attention.progress import Progress
from attention.read_out import ReadOut
from attention.record import RunRecord
from attention.tokens import Tokens
from attention.transformer import Transformer


def run(
    model: Transformer,
    tokens: Tokens,
    attention: Attention,
    origin: Origin,
    *,
    reuse: Iterable[RunRecord] = (),
    progress: Progress | None = None,
) -> RunRecord:
    """Run a text, or as much of it as no earlier run has computed. Under inference mode.

    Args:
        model: what to run.
        tokens: of the text.
        attention: each block's, as `origin` says.
        origin: what the run is made with.
        reuse: earlier runs.
        progress: called after each layer and at the end; what it raises ends the run.

    Raises:
        ModelError: when the logits are not finite numbers.
    """
    known = find_prefix(reuse, tokens, origin, model.config)
    if known is not None and known.length == len(tokens):
        record = known.cut(tokens)
    else:
        record = _run(model, tokens, attention, origin, known, progress)
    if progress is not None:
        progress(1.0)
    return record


def _run(
    model: Transformer,
    tokens: Tokens,
    attention: Attention,
    origin: Origin,
    known: Prefix | None,
    progress: Progress | None,
) -> RunRecord:
    layers: list[LayerRecord] = []

    def keep(seen: LayerObservation) -> None:
        layers.append(seen.record())
        if progress is not None:
            progress(len(layers) / (len(attention) + 1))

    start = 0 if known is None else known.length
    caches = [] if known is None else known.caches(attention, room=len(tokens))
    if caches:
        attention = [
            partial(layer, cache=cache) for layer, cache in zip(attention, caches, strict=True)
        ]
    ids = torch.tensor([tokens.ids[start:]], device=model.device)
    resid = model.stream(ids, attention, start=start, watch=keep)[0]
    read_out = ReadOut.of(resid, model.unembedding(), origin.model)
    if known is not None:
        return known.join(tokens, layers, caches, read_out)
    return RunRecord(tokens, read_out.settle(), tuple(layers), origin.implementation, origin)
