"""What a run leaves behind: q and k of every head, from which any pattern is recomputed."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from attention.errors import ConfigError, require_choice, require_head, require_positive, whole
from attention.layer_record import LayerRecord
from attention.memory import require_free
from attention.origin import Origin
from attention.pooling import BLOCK_CELLS, Reduce, pool
from attention.progress import Progress
from attention.read_out import ReadOut
from attention.tokens import Tokens


@dataclass(frozen=True)
class RunRecord:
    """One text through one model, frozen: everything the pictures are made of.

    It never holds the seq_len × seq_len patterns of all heads: those are recomputed. Nor does it
    hold more logits than a few megabytes: those of long texts are read when they are asked for.

    Attributes:
        tokens: what was run.
        read_out: the logits, (pos, vocab_size), float32, on the CPU; or what they are read from.
        layers: one record a layer.
        implementation: how the heads were computed; a key of IMPLEMENTATIONS.
        origin: all that it was made with, by which later runs know whether they may reuse it;
            None: they may not.
        reused: how many tokens at the beginning were taken from an earlier record.
    """

    tokens: Tokens
    read_out: Float[Tensor, "pos vocab_size"] | ReadOut
    layers: tuple[LayerRecord, ...]
    implementation: str
    origin: Origin | None = None
    reused: int = 0

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

    @property
    def nbytes(self) -> int:
        """The memory that it takes, bytes: O(layers · seq_len · d_model)."""
        layers = [t for layer in self.layers for t in (layer.q, layer.k, layer.v)]
        return sum(part.nbytes for part in (self.read_out, *layers))

    @property
    def logits(self) -> Float[Tensor, "pos vocab_size"]:
        """Logits of the token after each position, float32, on the CPU; see `logits_at`."""
        return self.logits_at(slice(None))

    def logits_at(self, rows: slice) -> Float[Tensor, "row vocab_size"]:
        """The logits at some positions alone, read anew each time where there are many in all.

        Raises:
            ConfigError: when rows is no slice that runs forwards.
            ModelError: when they are not finite, or the weights have changed since the run.
            DeviceError: when there is no memory for them.
        """
        _require_slice("rows", rows)
        if isinstance(self.read_out, ReadOut):
            return self.read_out.logits(range(self.seq_len)[rows])
        return self.read_out[rows]

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
        asked, record = range(self.seq_len)[rows], self.layers[layer]
        at_once = max(1, BLOCK_CELLS // self.seq_len)
        if len(asked) <= at_once:
            return record.pattern(head, asked)[0, :, cols].float().cpu().numpy()
        tile = np.empty((len(asked), len(range(self.seq_len)[cols])), dtype=np.float32)
        for start in range(0, len(asked), at_once):
            some = asked[start : start + at_once]
            tile[start : start + len(some)] = record.pattern(head, some)[0, :, cols].float().cpu()
        return tile

    def layer_pattern(self, layer: int) -> NDArray[np.float32]:
        """All heads' patterns of one layer: (head, query, key), float32. For short texts.

        Raises:
            ConfigError: when there is no such layer.
            DeviceError: when they are larger than the memory that is free.
        """
        layer, _ = self._check(layer, 0)
        require_free(
            4 * self.num_heads * self.seq_len**2,
            "cpu",
            f"for all {self.num_heads} heads' patterns on {self.seq_len:,} tokens",
            "Ask `pattern` for one head, or for some of its rows.",
        )
        found = np.empty((self.num_heads, self.seq_len, self.seq_len), dtype=np.float32)
        for head, own in enumerate(found):
            own[:] = self.pattern(layer, head)
        return found

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

    def pooled_layer(
        self, layer: int, size: int, reduce: Reduce = "max", *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Thumbnails of all heads of a layer, made in blocks of rows.

        Args:
            layer: which layer, from 0.
            size: the most cells a side; fewer where the text is shorter.
            reduce: `max` keeps a single strong weight; `mean` is over the cells of a block
                that may attend.
            progress: called after each block of rows; what it raises ends the work.

        Returns:
            (head, side, side), float32, side = ceil(seq_len / ceil(seq_len / size)).

        Raises:
            ConfigError: when there is no such layer or reduction, or size is below 1.
        """
        layer, _ = self._check(layer, 0)
        return self._pool(layer, None, size, reduce, progress)

    def _pool(
        self,
        layer: int,
        head: int | None,
        size: int,
        reduce: Reduce,
        progress: Progress | None = None,
    ) -> NDArray[np.float32]:
        require_positive("size", size)
        require_choice("reduce", reduce, ("max", "mean"))
        record = self.layers[layer]

        def allowed(rows: range) -> Tensor:
            positions = torch.arange(rows.stop, device=record.q.device)
            return record.rule.allowed(positions[rows.start :], positions)

        found = pool(
            lambda rows: record.seen(head, rows),
            allowed,
            self.seq_len,
            size,
            reduce,
            num_heads=self.num_heads if head is None else 1,
            progress=progress,
        )
        return found.cpu().numpy()

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
