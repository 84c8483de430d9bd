"""What one layer leaves behind, and the rule by which any rows of its patterns come back."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from attention import capture
from attention.config import AttentionConfig
from attention.implementations.base import capped
from attention.masks import reach


@dataclass(frozen=True)
class PatternRule:
    """How a layer's q and k become its pattern: scaled, causal, softmax.

    Attributes:
        scale: the factor on q·k.
        soft_cap: see `AttentionConfig`.
        window: see `AttentionConfig`.
    """

    scale: float
    soft_cap: float | None = None
    window: int | None = None

    @classmethod
    def of(cls, config: AttentionConfig) -> "PatternRule":
        """The rule of a layer."""
        return cls(scale=config.scale, soft_cap=config.soft_cap, window=config.window)

    def allowed(
        self, queries: Int[Tensor, " query"], keys: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Which positions of `keys` those of `queries` may attend to."""
        return reach(queries, keys, self.window)

    def pattern(
        self,
        q: Float[Tensor, "num_heads pos head_dim"],
        k: Float[Tensor, "num_kv_heads pos head_dim"],
        rows: range,
    ) -> Float[Tensor, "num_heads query key"]:
        """The pattern's rows at some positions, in at least float32; rows sum to 1."""
        found = self.seen(q, k, rows)
        after = k.shape[1] - found.shape[2]
        return functional.pad(found, (0, after)) if after else found

    def seen(
        self,
        q: Float[Tensor, "num_heads pos head_dim"],
        k: Float[Tensor, "num_kv_heads pos head_dim"],
        rows: range,
    ) -> Float[Tensor, "num_heads query seen"]:
        """As `pattern`, up to the key at the last of the rows.

        Keys after it are not even multiplied, nor those before the first one's window.
        """
        wide = torch.promote_types(q.dtype, torch.float32)
        last = rows[-1] + 1 if rows else 0
        first = 0 if self.window is None or not rows else max(0, rows.start - self.window + 1)
        asked, keys = q[:, rows.start : rows.stop : rows.step].to(wide), k[:, first:last].to(wide)
        plain = self.soft_cap is None and (self.window is None or last <= self.window)
        on_cpu = q.device.type == "cpu" and not asked.requires_grad
        if plain and on_cpu and rows.step == 1 and rows:
            return capture.patterns(asked[None], keys[None], scale=self.scale)[0]
        keys = keys.repeat_interleave(q.shape[0] // k.shape[0], dim=0)
        scores = capped((asked * self.scale) @ keys.transpose(-2, -1), self.soft_cap)
        positions = torch.arange(rows.start, rows.stop, rows.step, device=q.device)
        allowed = self.allowed(positions, torch.arange(first, last, device=q.device))
        found = scores.masked_fill(allowed.logical_not(), -torch.inf).softmax(dim=-1)
        return functional.pad(found, (first, 0)) if first else found


@dataclass(frozen=True)
class LayerRecord:
    """What one layer keeps of a run.

    Attributes:
        q: (num_heads, pos, head_dim), after rotation.
        k: (num_kv_heads, pos, head_dim), after rotation.
        v: (num_kv_heads, pos, head_dim).
        rule: how q and k become the pattern.
    """

    q: Float[Tensor, "num_heads pos head_dim"]
    k: Float[Tensor, "num_kv_heads pos head_dim"]
    v: Float[Tensor, "num_kv_heads pos head_dim"]
    rule: PatternRule

    def pattern(self, head: int | None, rows: range) -> Float[Tensor, "head query key"]:
        """The pattern of one head, or of all (None), at some rows; the caller's own."""
        return self.rule.pattern(*self._of(head), rows)

    def seen(self, head: int | None, rows: range) -> Float[Tensor, "head query seen"]:
        """As `pattern`, up to the key at the last of the rows: what is after it is 0."""
        return self.rule.seen(*self._of(head), rows)

    def _of(self, head: int | None) -> tuple[Tensor, Tensor]:
        if head is None:
            return self.q, self.k
        kv_head = head // (self.q.shape[0] // self.k.shape[0])
        return self.q[head][None], self.k[kv_head][None]
