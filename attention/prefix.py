"""What two texts have in common at their beginning is run once: no token sees those after it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attention.decoding import Attention
from attention.implementations import find_implementation
from attention.implementations.base import AttentionModule
from attention.kv_cache import KVCache
from attention.layer_record import LayerRecord
from attention.model_config import ModelConfig
from attention.origin import Origin
from attention.read_out import AT_ONCE, ReadOut
from attention.record import RunRecord
from attention.tokens import Tokens

SHORTEST_SHARE = 4  # a beginning of less than a quarter of a text is run again: it saves nothing


@dataclass(frozen=True)
class Prefix:
    """The beginning that a text shares with an earlier run.

    Attributes:
        record: the earlier run.
        length: of the beginning, tokens.
    """

    record: RunRecord
    length: int

    def serves(self, seq_len: int, config: ModelConfig) -> bool:
        """Whether a text of that length can be, and is worth being, read on from here."""
        record, origin = self.record, self.record.origin
        if origin is None or origin.autocast or not self.length:
            return False
        if self.length == seq_len == record.seq_len:
            return True
        longest = max(seq_len, record.seq_len)
        if any(_depends_on_length(config, layer, longest) for layer in range(config.num_layers)):
            return False
        if self.length == seq_len:
            return True
        # Logits that are held cannot be put before those that are read when they are asked for.
        too_many = 4 * seq_len * config.vocab_size > AT_ONCE
        return (
            find_implementation(origin.implementation).has_cache
            and seq_len <= SHORTEST_SHARE * self.length
            and (isinstance(record.read_out, ReadOut) or not too_many)
        )

    def cut(self, tokens: Tokens) -> RunRecord:
        """The run of a text that is a beginning of the earlier one: nothing is computed.

        Its numbers are its own, so that the earlier run may go; those of the same text are shared.
        """
        if self.length == self.record.seq_len:
            return replace(self.record, tokens=tokens, reused=self.length)
        until = self.length

        def own(kept: Tensor) -> Tensor:
            return kept[..., :until, :].clone()

        layers = tuple(
            replace(layer, q=own(layer.q), k=own(layer.k), v=own(layer.v))
            for layer in self.record.layers
        )
        late = self.record.read_out
        read_out = (
            replace(late, resid=own(late.resid)).settle()
            if isinstance(late, ReadOut)
            else own(late)
        )
        return replace(
            self.record, tokens=tokens, read_out=read_out, layers=layers, reused=self.length
        )

    def caches(self, attention: Attention, room: int) -> list[KVCache]:
        """A cache for each layer that holds the keys and values of the beginning.

        Args:
            attention: the layers.
            room: tokens of the whole text.
        """
        caches = []
        for layer, seen in zip(attention, self.record.layers, strict=True):
            assert isinstance(layer, AttentionModule)  # `attention_layers` gives no other
            cache = KVCache(layer.config, room=room, device=seen.k.device, dtype=seen.k.dtype)
            cache.extend(seen.k[None, :, : self.length], seen.v[None, :, : self.length])
            cache.advance(self.length)
            caches.append(cache)
        return caches

    def join(
        self,
        tokens: Tokens,
        layers: Sequence[LayerRecord],
        caches: Sequence[KVCache],
        rest: ReadOut,
    ) -> RunRecord:
        """The run of the whole text.

        Args:
            tokens: the text.
            layers: what each layer computed for the tokens after the beginning.
            caches: the keys and values of all.
            rest: what the logits after the beginning are read from.

        Raises:
            ModelError: when the logits are not finite numbers.
        """
        whole = tuple(
            LayerRecord(
                torch.cat([before.q[:, : self.length], after.q], dim=1),
                cache.kept[0, 0],
                cache.kept[1, 0],
                after.rule,
            )
            for before, after, cache in zip(self.record.layers, layers, caches, strict=True)
        )
        early = self.record.read_out
        read_out: Tensor | ReadOut
        if isinstance(early, ReadOut):
            resid = torch.cat([early.resid[: self.length], rest.resid])
            read_out = replace(early, resid=resid).settle()
        else:
            found = rest.logits(range(rest.resid.shape[0]))
            read_out = torch.cat([early[: self.length], found])
        return replace(
            self.record, tokens=tokens, read_out=read_out, layers=whole, reused=self.length
        )


def find_prefix(
    records: Iterable[RunRecord], tokens: Tokens, origin: Origin, config: ModelConfig
) -> Prefix | None:
    """The longest beginning of a text that one of these runs has computed already.

    Args:
        records: earlier runs, of any model.
        tokens: the text.
        origin: what it is to be run with.
        config: the model's.

    Returns:
        None where the whole text has to be run: no beginning is worth it, an implementation
        has no kv cache, or what is computed of a token depends on the text's length.
    """
    found = (
        Prefix(record, shared(record.tokens.ids, tokens.ids))
        for record in records
        if record.origin == origin
    )
    useful = [one for one in found if one.serves(len(tokens), config)]
    return max(useful, key=lambda one: one.length, default=None)


def shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many ids two texts have in common before the first that differs.

    Example:
        `shared((7, 1, 2), (7, 1, 3, 2))` is 2.
    """
    longest = min(len(a), len(b))
    return bisect_left(range(1, longest + 1), True, key=lambda length: a[:length] != b[:length])


def _depends_on_length(config: ModelConfig, layer: int, seq_len: int) -> bool:
    rope = config.layer(layer).rope
    scaling = None if rope is None else rope.scaling
    return scaling is not None and scaling.depends_on_length(seq_len)
