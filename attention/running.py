"""One forward pass of a text, of which each layer's q, k and v and the read-out are kept."""

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor

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


class Room:
    """Where the q, k and v of all layers are put, taken at once.

    What stays would otherwise lie between what each layer computes and lets go, and leave holes
    there that little fits into: at 2,048 tokens of GPT-2's size a third more memory at the peak.

    Args:
        num_layers: of the run.
    """

    def __init__(self, num_layers: int) -> None:
        self._num_layers = num_layers
        self._room: dict[str, Tensor] = {}

    def keep(self, index: int, layer: LayerRecord) -> LayerRecord:
        """The same record, its numbers moved here; a layer of another size than the first stays."""
        q, k, v = (self._put(name, index, getattr(layer, name)) for name in ("q", "k", "v"))
        return LayerRecord(q, k, v, layer.rule)

    def _put(self, name: str, index: int, computed: Tensor) -> Tensor:
        if name not in self._room:
            self._room[name] = computed.new_empty(self._num_layers, *computed.shape)
        room = self._room[name]
        return room[index].copy_(computed) if room.shape[1:] == computed.shape else computed


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
    room = Room(len(attention))

    def keep(seen: LayerObservation) -> None:
        layers.append(room.keep(len(layers), seen.record()))
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
