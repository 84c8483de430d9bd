"""How many FLOPs an attention layer takes and how many bytes it moves, by formula.

B sequences of T tokens; H query heads and K kv heads of d features. A decode step computes one
token that follows T kept ones. A multiplication and an addition are two FLOPs. Only matrix
products are counted: mask, softmax, biases and scaling take less than a few percent of the FLOPs,
though not of the bytes. Bytes are those of an operator that reads each operand and writes its
result once; what a processor's cache spares is left out, and each head is taken to read the keys
and values of its kv head by itself.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from attention.benchmark.passes import PASSES
from attention.benchmark.positions import Count, Positions
from attention.config import AttentionConfig
from attention.devices import DTYPES
from attention.implementations import Implementation

if TYPE_CHECKING:
    from attention.benchmark.settings import BenchmarkSettings


@dataclass(frozen=True)
class Part:
    """One step of a layer.

    Attributes:
        flops: floating point operations.
        moved: numbers that are read and written.
        flops_formula: how `flops` is worked out, in the letters of this module.
        moved_formula: the same for `moved`.
    """

    flops: int
    moved: int
    flops_formula: str
    moved_formula: str


@dataclass(frozen=True)
class Work:
    """A layer's steps in one pass.

    Attributes:
        projections: x to q, k and v.
        scores: q times k.
        softmax: mask and softmax, where the scores are kept; no product, so 0 FLOPs.
        mix: pattern times v.
        out: z through W_O; 0 without it.
        itemsize: bytes of a number.
        products: how many there are for each of a forward pass: 3 with the gradients.
    """

    projections: Part
    scores: Part
    softmax: Part
    mix: Part
    out: Part
    itemsize: int
    products: int = 1

    @property
    def parts(self) -> dict[str, Part]:
        """The steps by name, in their order."""
        return {
            f.name: part for f in fields(self) if isinstance(part := getattr(self, f.name), Part)
        }

    @property
    def flops(self) -> int:
        """FLOPs of all of it."""
        return self.products * sum(part.flops for part in self.parts.values())

    @property
    def bytes(self) -> int:
        """Bytes read and written by all of it."""
        return self.products * self.itemsize * sum(part.moved for part in self.parts.values())

    @property
    def projection_flops(self) -> int:
        """FLOPs of q, k, v and W_O."""
        return self.products * (self.projections.flops + self.out.flops)

    @property
    def attention_flops(self) -> int:
        """FLOPs of scores and mix."""
        return self.products * (self.scores.flops + self.mix.flops)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What the formulas need.

    Attributes:
        config: the layer.
        batch: sequences.
        seq_len: tokens.
        itemsize: bytes of a number.
        passes: a key of PASSES.
    """

    config: AttentionConfig
    batch: int
    seq_len: int
    itemsize: int
    passes: str = "forward"

    @classmethod
    def of(cls, settings: "BenchmarkSettings", num_heads: int) -> "Sizes":
        """Those of a benchmark at one head count."""
        return cls(
            config=settings.config(num_heads),
            batch=settings.batch,
            seq_len=settings.seq_len,
            itemsize=DTYPES[settings.dtype].itemsize,
            passes=settings.passes,
        )

    @property
    def positions(self) -> Positions:
        """Which positions are computed, and which they attend to."""
        return PASSES[self.passes].positions(self.seq_len)

    @property
    def rows(self) -> int:
        """Positions that are computed, of all sequences."""
        return self.batch * self.positions.queries.value


def work(sizes: Sizes, entry: Implementation) -> Work:
    """What one implementation computes.

    Leaves out what a kernel computes twice to save memory in the backward pass, and the copy of
    a new token's key and value into the KV cache.

    Args:
        sizes: of the layer and its input.
        entry: which implementation; its `projections` and `scores` choose the formulas.
    """
    at = sizes.positions
    square = entry.scores == "full"
    cells = at.square if square else at.triangle
    kept = entry.scores != "kernel"
    steps = 4 if square and at.masked else 2  # mask and softmax each read and write; or this alone
    return Work(
        projections=_projections(sizes, entry.projections),
        scores=_product(sizes, cells, kept=kept, of="q, k"),
        softmax=_softmax(sizes, cells, steps if kept else 0),
        mix=_product(sizes, cells, kept=kept, of="v, z"),
        out=_out(sizes),
        itemsize=sizes.itemsize,
        products=PASSES[sizes.passes].products,
    )


def _projections(sizes: Sizes, how: str) -> Part:
    c, rows = sizes.config, sizes.rows
    each = how == "per_head"  # then heads that share a kv head compute its k and v anew
    columns = (c.num_heads + 2 * (c.num_heads if each else c.num_kv_heads)) * c.head_dim
    reads = {"one": 1, "three": 3}.get(how, 3 * c.num_heads)
    moved = reads * rows * c.d_in + c.d_in * columns + rows * columns
    width = "3·H·d" if each else "(H + 2·K)·d"
    times = {"one": "", "three": "3·"}.get(how, "3·H·")
    of = _written_rows(sizes)
    return Part(
        2 * rows * c.d_in * columns,
        moved,
        f"2·{of}·d_in·{width}",
        f"{times}{of}·d_in + d_in·{width} + {of}·{width}",
    )


def _written_rows(sizes: Sizes) -> str:
    queries = sizes.positions.queries
    return f"B·{queries.written}" if queries.written != "1" else "B"


def _product(sizes: Sizes, cells: Count, *, kept: bool, of: str) -> Part:
    """Scores or mix: both read two of q, k, v, z and one square, or write it."""
    c, at = sizes.config, sizes.positions
    count, written = sizes.batch * c.num_heads * cells.value, f"B·H·{cells.written}"
    vectors = sizes.batch * (at.queries.value + at.keys.value) * c.d_out
    both = f"({at.queries.written} + {at.keys.written.strip('()')})"
    return Part(
        2 * count * c.head_dim,
        vectors + (count if kept else 0),
        f"2·{written}·d",
        f"B·{both}·H·d ({of})" + (f" + {written}" if kept else ""),
    )


def _softmax(sizes: Sizes, cells: Count, steps: int) -> Part:
    moved = steps * sizes.batch * sizes.config.num_heads * cells.value
    return Part(0, moved, "0", f"{steps}·B·H·{cells.written}" if steps else "0")


def _out(sizes: Sizes) -> Part:
    c, rows, of = sizes.config, sizes.rows, _written_rows(sizes)
    if not c.out_proj:
        return Part(0, 0, "0 (no W_O)", "0 (no W_O)")
    moved = rows * c.d_out + c.d_out * c.d_model + rows * c.d_model
    return Part(
        2 * rows * c.d_out * c.d_model,
        moved,
        f"2·{of}·H·d·d_model",
        f"{of}·H·d + H·d·d_model + {of}·d_model",
    )
