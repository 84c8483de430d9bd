"""The keys and values of everything read so far, so that each is computed once a token."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention.config import AttentionConfig
from attention.errors import ConfigError, TextError, require_positive


@dataclass(frozen=True)
class HeadCache:
    """One head's part of a `KVCache`; see there."""

    k: Float[Tensor, "batch room head_dim"]
    v: Float[Tensor, "batch room head_dim"]
    read: int

    def extend(
        self, k: Float[Tensor, "batch pos head_dim"], v: Float[Tensor, "batch pos head_dim"]
    ) -> tuple[Float[Tensor, "batch key head_dim"], Float[Tensor, "batch key head_dim"]]:
        """Put those of new tokens after those read; give back all."""
        return _written(self.k, k, self.read), _written(self.v, v, self.read)


class KVCache:
    """One attention layer's keys, after rotation, and values for every token read so far.

    `module(x, cache=cache)` reads x as the tokens that follow: its output is that of the whole
    text at those positions. Holds no gradients. One text, or one batch of equally long ones, at
    a time: forwards of several threads must not share a cache.

    Args:
        config: the layer's sizes.
        batch: texts that are read at once.
        room: the most tokens of a text; context_length by default.
        device: where the layer is.
        dtype: what the layer computes in.

    Raises:
        ConfigError: when batch or room is no whole number of at least 1, or room is above
            context_length.

    Example:
        With ``cache = KVCache(config)``, ``module(x[:, :4], cache=cache)`` and then
        ``module(x[:, 4:], cache=cache)`` are ``module(x)`` in two parts.
    """

    def __init__(
        self,
        config: AttentionConfig,
        batch: int = 1,
        *,
        room: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        room = config.context_length if room is None else room
        require_positive("batch", batch)
        require_positive("room", room)
        if room > config.context_length:
            raise ConfigError(
                f"room must be at most {config.context_length} (context_length); got {room}."
            )
        shape = (2, batch, config.num_kv_heads, room, config.head_dim)
        with torch.inference_mode(mode=False):  # or it could be written in inference mode only
            self.kept = torch.zeros(shape, device=device, dtype=dtype)
        self.read = 0

    @property
    def room(self) -> int:
        """The most tokens of a text."""
        return self.kept.shape[3]

    def check(self, config: AttentionConfig, x: Tensor) -> None:
        """Refuse tokens that the cache cannot take.

        Args:
            config: of the layer that reads them.
            x: (batch, pos, d_in).

        Raises:
            TextError: when there is no room left for them.
            ConfigError: when the cache is of another layer, batch, device or dtype, or gradients
                are wanted: none would reach the keys and values that are kept.
        """
        if self.read + x.shape[1] > self.room:
            raise TextError(
                f"seq_len must be at most {self.room - self.read} after the {self.read} tokens "
                f"in the cache (room for {self.room}); got {x.shape[1]}."
            )
        if torch.is_grad_enabled():
            raise ConfigError(
                "cache must be used without gradients; got gradients switched on. "
                "Call the layer under torch.inference_mode()."
            )
        _, batch, heads, _, head_dim = self.kept.shape
        mine = (batch, heads, head_dim)
        wanted = (x.shape[0], config.num_kv_heads, config.head_dim)
        if mine != wanted:
            raise ConfigError(
                f"cache must be for (batch, num_kv_heads, head_dim) {wanted}; got {mine}."
            )
        if self.kept.device != x.device:
            raise ConfigError(f"cache must be on {x.device} as x; got {self.kept.device}.")
        if self.kept.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
            raise ConfigError(f"cache must be {x.dtype} as x; got {self.kept.dtype}.")

    def extend(
        self,
        k: Float[Tensor, "batch num_kv_heads pos head_dim"],
        v: Float[Tensor, "batch num_kv_heads pos head_dim"],
    ) -> tuple[
        Float[Tensor, "batch num_kv_heads key head_dim"],
        Float[Tensor, "batch num_kv_heads key head_dim"],
    ]:
        """Put those of new tokens after those read; give back all (views, not copies)."""
        return _written(self.kept[0], k, self.read), _written(self.kept[1], v, self.read)

    def head(self, kv_head: int) -> HeadCache:
        """One kv head's part, for layers that compute their heads one by one."""
        return HeadCache(self.kept[0, :, kv_head], self.kept[1, :, kv_head], self.read)

    def advance(self, num_tokens: int) -> None:
        """Count the new tokens as read, once every head has put its keys and values."""
        self.read += num_tokens


def _written(kept: Tensor, new: Tensor, start: int) -> Tensor:
    """`new` put into `kept` (..., room, head_dim) at `start`; all up to its end."""
    end = start + new.shape[-2]
    kept[..., start:end, :] = new
    return kept[..., :end, :]
