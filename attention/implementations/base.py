"""What every implementation of multi-head attention shares: sizes, checks, capture."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.errors import ConfigError, TextError
from attention.kv_cache import KVCache
from attention.masks import CausalMask
from attention.rotary import Positions
from attention.weights import HeadWeights


@dataclass(frozen=True)
class Observation:
    """What one layer computed on the way: after rotation, before any sharing of kv heads."""

    q: Float[Tensor, "batch num_heads pos head_dim"]
    k: Float[Tensor, "batch num_kv_heads pos head_dim"]
    v: Float[Tensor, "batch num_kv_heads pos head_dim"]


Observe = Callable[[Observation], None]
Output = Tensor | tuple[Tensor, Tensor | None]


class AttentionModule(nn.Module):
    """Base of the implementations: `module(x)` or `module(x, need_pattern=True)`.

    Subclasses name their weight `layout` and write `forward` from top to bottom.

    Args:
        config: the layer's sizes.
    """

    layout: ClassVar[str]
    kept_in: ClassVar[str] = ""  # the submodule that has the layout's tensors; "" for this one

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.config = config
        self.mask = CausalMask(config.window)
        self._fitting: tuple[torch.device, torch.dtype] | None = None
        self.dropout = nn.Dropout(config.dropout)

    def _out_projection(self) -> nn.Module:
        config = self.config
        if not config.out_proj:
            return nn.Identity()
        return nn.Linear(config.d_out, config.d_model, bias=config.out_bias)

    def head_weights(self) -> HeadWeights:
        """These parameters, head-explicit."""
        state = self.get_submodule(self.kept_in).state_dict()
        return HeadWeights.from_state_dict(state, self.layout, self.config)

    def check_input(self, x: Tensor, cache: KVCache | None = None) -> None:
        """Refuse an input of the wrong shape or length, or one that the cache cannot take.

        Raises:
            ConfigError: when x is not (batch, pos, d_in), or in another dtype or on another
                device than the weights, or the cache does not fit; see `KVCache.check`.
            TextError: when the sequence is empty, longer than context_length, or more than the
                cache has room for.
        """
        config = self.config
        if not isinstance(x, Tensor):
            raise ConfigError(f"x must be a tensor; got {type(x).__name__}.")
        if x.dim() != 3 or x.shape[-1] != config.d_in:
            raise ConfigError(
                f"x must have shape (batch, pos, d_in={config.d_in}); got {tuple(x.shape)}."
            )
        if not 1 <= x.shape[1] <= config.context_length:
            raise TextError(
                f"seq_len must be 1 to {config.context_length} (context_length); got {x.shape[1]}."
            )
        if (x.device, x.dtype) != self._fitting:
            self._check_place(x)
        if cache is not None:
            cache.check(config, x)

    def _check_place(self, x: Tensor) -> None:
        weight = next(self.parameters())  # as long as a small operator: not at every call
        if x.device != weight.device:
            raise ConfigError(f"x must be on {weight.device} as the weights; got {x.device}.")
        if x.dtype == weight.dtype:
            if not torch.compiler.is_compiling():  # what changes is compiled twice
                self._fitting = (x.device, x.dtype)
        elif not torch.is_autocast_enabled(x.device.type):
            raise ConfigError(f"x must be {weight.dtype} as the weights; got {x.dtype}.")

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "AttentionModule":
        self._fitting = None  # what fits the weights may change with them
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def softmax(self, scores: Tensor) -> Tensor:
        """Scores, capped and masked, to a pattern, in at least float32; rows sum to 1.

        Args:
            scores: (..., query, key), already scaled; the last query is at the last key.
        """
        queries, keys = scores.shape[-2:]
        scores = capped(scores, self.config.soft_cap)
        if queries == 1 and self.config.window_in(keys) is None:  # it is at the last key, sees all
            return softmax_except(None, scores)
        allowed = self.allowed(queries, keys, device=scores.device)
        return softmax_except(allowed.logical_not(), scores)

    def allowed(self, queries: int, keys: int, *, device: torch.device) -> Tensor:
        """Which keys (query, key) the queries may attend to: the last query is at the last key.

        As many of both are the usual triangle; after a cache the queries see all of it too, as
        far as the window goes.
        """
        mask: Tensor = self.mask(keys, device)
        return mask if queries == keys else mask[keys - queries :]


def softmax_except(blocked: Tensor | None, scores: Tensor) -> Tensor:
    """Scores to a pattern, in at least float32; keys that are blocked get exactly 0."""
    masked = scores if blocked is None else scores.masked_fill(blocked, -torch.inf)
    wide = torch.promote_types(scores.dtype, torch.float32)
    pattern: Tensor = masked.softmax(dim=-1, dtype=wide).to(scores.dtype)
    return pattern


def capped(scores: Tensor, soft_cap: float | None) -> Tensor:
    """Scores squeezed to within -soft_cap and soft_cap; as they are without one.

    Source: Gemma Team 2024 (Gemma 2), section 2.
    """
    return scores if soft_cap is None else soft_cap * (scores / soft_cap).tanh()


def rotated(
    q: Tensor, k: Tensor, rotary: Positions | None, start: int = 0
) -> tuple[Tensor, Tensor]:
    """Give q and k their positions, from `start`; unchanged without rotary positions."""
    return (q, k) if rotary is None else rotary.place(q, k, start)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(batch, pos, num_heads * head_dim) to (batch, head, pos, head_dim)."""
    return x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(1, 2)


def merge_heads(z: Tensor) -> Tensor:
    """(batch, head, pos, head_dim) to (batch, pos, num_heads * head_dim)."""
    return z.transpose(1, 2).flatten(-2)
