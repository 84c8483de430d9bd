"""What a run leaves behind: q and k of every head, from which any pattern is recomputed."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from attention import capture
from attention.config import AttentionConfig
from attention.errors import ConfigError, require_choice, require_head, require_positive, whole
from attention.implementations.base import capped
from attention.tokens import Tokens

BLOCK_CELLS = 1 << 22  # scores held at a time while pooling: 16 MB in float32
Reduce = Literal["max", "mean"]


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
        distance = queries[:, None] - keys
        behind = distance >= 0
        return behind if self.window is None else behind & (distance < self.window)

    def pattern(
        self,
        q: Float[Tensor, "num_heads pos head_dim"],
        k: Float[Tensor, "num_kv_heads pos head_dim"],
        rows: range,
    ) -> Float[Tensor, "num_heads query key"]:
        """The pattern's rows at some positions, in at least float32; rows sum to 1.

        Keys after the last of the rows are not even multiplied.
        """
        wide = torch.promote_types(q.dtype, torch.float32)
        seen = rows[-1] + 1 if rows else 0
        asked, keys = q[:, rows.start : rows.stop : rows.step].to(wide), k[:, :seen].to(wide)
        plain = self.soft_cap is None and (self.window is None or seen <= self.window)
        on_cpu = q.device.type == "cpu" and not asked.requires_grad
        if plain and on_cpu and rows.step == 1 and rows:
            found = capture.patterns(asked[None], keys[None], scale=self.scale)[0]
        else:
            keys = keys.repeat_interleave(q.shape[0] // k.shape[0], dim=0)
            scores = capped((asked * self.scale) @ keys.transpose(-2, -1), self.soft_cap)
            positions = torch.arange(rows.start, rows.stop, rows.step, device=q.device)
            allowed = self.allowed(positions, torch.arange(seen, device=q.device))
            found = scores.masked_fill(allowed.logical_not(), -torch.inf).softmax(dim=-1)
        return functional.pad(found, (0, k.shape[1] - seen)) if seen < k.shape[1] else found


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
        if head is None:
            return self.rule.pattern(self.q, self.k, rows)
        kv_head = head // (self.q.shape[0] // self.k.shape[0])
        return self.rule.pattern(self.q[head][None], self.k[kv_head][None], rows)


@dataclass(frozen=True)
class RunRecord:
    """One text through one model, frozen: everything the pictures are made of.

    It never holds the seq_len × seq_len patterns of all heads: those are recomputed.

    Attributes:
        tokens: what was run.
        logits: (pos, vocab_size), float32, on the CPU.
        layers: one record a layer.
        implementation: how the heads were computed; a key of IMPLEMENTATIONS.
    """

    tokens: Tokens
    logits: Float[Tensor, "pos vocab_size"]
    layers: tuple[LayerRecord, ...]
    implementation: str

    @property
    def num_layers(self) -> int:
        """Layers in the record."""
        return len(self.layers)

    @property
    def num_heads(self) -> int:
        """Query heads in each layer."""
        return self.layers[0].q.shape[0]

    @property
    def seq_len(self) -> int:
        """Tokens that were run, BOS included."""
        return self.layers[0].q.shape[1]

    def window(self, layer: int) -> int | None:
        """How many tokens a query of a layer may attend to, its own the last; None for all.

        Raises:
            ConfigError: when there is no such layer.
        """
        layer, _ = self._check(layer, 0)
        return self.layers[layer].rule.window

    def pattern(
        self, layer: int, head: int, rows: slice = slice(None), cols: slice = slice(None)
    ) -> NDArray[np.float32]:
        """One head's pattern, or a tile of it, recomputed exactly from q and k.

        Args:
            layer: which layer, from 0.
            head: which query head, from 0.
            rows: the queries wanted.
            cols: the keys wanted; the rows are normalised over all keys all the same.

        Returns:
            (query, key), float32; whole rows sum to 1, later keys are exactly 0.

        Raises:
            ConfigError: when there is no such layer or head, or rows or cols is no slice that
                runs forwards.
        """
        layer, head = self._check(layer, head)
        _require_slice("rows", rows)
        _require_slice("cols", cols)
        tile = self.layers[layer].pattern(head, range(self.seq_len)[rows])[0, :, cols]
        return tile.float().cpu().numpy()

    def layer_pattern(self, layer: int) -> NDArray[np.float32]:
        """All heads' patterns of one layer: (head, query, key), float32.

        Raises:
            ConfigError: when there is no such layer.
        """
        layer, _ = self._check(layer, 0)
        return self.layers[layer].pattern(None, range(self.seq_len)).float().cpu().numpy()

    def pooled(
        self, layer: int, head: int, size: int, reduce: Reduce = "max"
    ) -> NDArray[np.float32]:
        """A thumbnail of one head: see `pooled_layer`.

        Raises:
            ConfigError: when there is no such layer, head or reduction, or size is below 1.
        """
        layer, head = self._check(layer, head)
        thumbnail: NDArray[np.float32] = self._pool(layer, head, size, reduce)[0]
        return thumbnail

    def pooled_layer(self, layer: int, size: int, reduce: Reduce = "max") -> NDArray[np.float32]:
        """Thumbnails of all heads of a layer, made in blocks of rows.

        Args:
            layer: which layer, from 0.
            size: the most cells a side; fewer where the text is shorter.
            reduce: `max` keeps a single strong weight; `mean` is over the cells of a block
                that may attend.

        Returns:
            (head, side, side), float32, side = ceil(seq_len / ceil(seq_len / size)).

        Raises:
            ConfigError: when there is no such layer or reduction, or size is below 1.
        """
        layer, _ = self._check(layer, 0)
        return self._pool(layer, None, size, reduce)

    def _pool(self, layer: int, head: int | None, size: int, reduce: Reduce) -> NDArray[np.float32]:
        require_positive("size", size)
        require_choice("reduce", reduce, ("max", "mean"))
        record = self.layers[layer]
        device = record.q.device
        seq_len, step = self.seq_len, -(-self.seq_len // size)
        side = -(-seq_len // step)
        column = torch.arange(seq_len, device=device) // step
        heads = self.num_heads if head is None else 1
        out = torch.zeros(heads, side, side, device=device)
        band = max(1, BLOCK_CELLS // (seq_len * heads * step))  # thumbnail rows at a time
        for start in range(0, side, band):
            stop = min(side, start + band)
            asked = range(start * step, min(seq_len, stop * step))
            pattern = record.pattern(head, asked).float()  # head query key
            rows = torch.arange(asked.start, asked.stop, device=device)
            to_cell = (rows // step - start)[:, None] * side + column  # query key
            cells = torch.zeros(heads, (stop - start) * side, device=device)
            index = to_cell.flatten().expand(heads, -1)
            how = "amax" if reduce == "max" else "sum"
            cells.scatter_reduce_(1, index, pattern.flatten(1), reduce=how)
            if reduce == "mean":
                may_attend = record.rule.allowed(rows, torch.arange(seq_len, device=device)).float()
                count = torch.zeros_like(cells[0]).scatter_add_(
                    0, to_cell.flatten(), may_attend.flatten()
                )
                cells /= count.clamp(min=1)
            out[:, start:stop] = cells.view(heads, stop - start, side)
        return out.cpu().numpy()

    def _check(self, layer: int, head: int) -> tuple[int, int]:
        return require_head(layer, head, num_layers=self.num_layers, num_heads=self.num_heads)


def _require_slice(name: str, value: slice) -> None:
    """Refuse what torch would read in another way, or cannot read: a number, a step backwards."""
    given = (value.start, value.stop, value.step) if isinstance(value, slice) else (False,)
    forwards = all(part is None or whole(part) is not None for part in given)
    step = whole(given[-1])
    if not forwards or (step is not None and step < 1):
        raise ConfigError(
            f"{name} must be a slice of whole numbers with a step of at least 1, such as "
            f"slice(0, 4); got {value!r}."
        )
