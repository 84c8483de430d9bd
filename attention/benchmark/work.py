"""How many FLOPs an attention layer takes and how many bytes it moves, by formula.

B sequences of T tokens; H query heads and K kv heads of d features. A multiplication and an
addition are two FLOPs. Only matrix products are counted: mask, softmax, biases and scaling take
less than a few percent of the FLOPs, though not of the bytes. Bytes are those of an operator that
reads each operand and writes its result once; what a cache spares is left out.
"""

from dataclasses import dataclass, fields

from attention.config import AttentionConfig
from attention.implementations import Implementation

BACKWARD = 3  # a product, and its gradients by both factors, of the same size each


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
        passes: 1 for a forward pass, 3 with the gradients.
    """

    projections: Part
    scores: Part
    softmax: Part
    mix: Part
    out: Part
    itemsize: int
    passes: int = 1

    @property
    def parts(self) -> dict[str, Part]:
        """The steps by name, in their order."""
        return {
            f.name: part for f in fields(self) if isinstance(part := getattr(self, f.name), Part)
        }

    @property
    def flops(self) -> int:
        """FLOPs of all of it."""
        return self.passes * sum(part.flops for part in self.parts.values())

    @property
    def bytes(self) -> int:
        """Bytes read and written by all of it."""
        return self.passes * self.itemsize * sum(part.moved for part in self.parts.values())

    @property
    def projection_flops(self) -> int:
        """FLOPs of q, k, v and W_O."""
        return self.passes * (self.projections.flops + self.out.flops)

    @property
    def attention_flops(self) -> int:
        """FLOPs of scores and mix."""
        return self.passes * (self.scores.flops + self.mix.flops)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What the formulas need.

    Attributes:
        config: the layer.
        batch: sequences.
        seq_len: tokens.
        itemsize: bytes of a number.
        backward: whether the gradients of input and weights are computed too.
    """

    config: AttentionConfig
    batch: int
    seq_len: int
    itemsize: int
    backward: bool = False


def work(sizes: Sizes, entry: Implementation) -> Work:
    """What one implementation computes.

    Leaves out what a kernel computes twice to save memory in the backward pass.

    Args:
        sizes: of the layer and its input.
        entry: which implementation; its `projections` and `scores` choose the formulas.
    """
    square = entry.scores == "full"
    kept = entry.scores != "kernel"
    steps = 4 if square else 2  # mask and softmax each read and write; or the softmax alone
    return Work(
        projections=_projections(sizes, entry.projections),
        scores=_product(sizes, square=square, kept=kept, of="q, k"),
        softmax=_softmax(sizes, steps if kept else 0, square=square),
        mix=_product(sizes, square=square, kept=kept, of="v, z"),
        out=_out(sizes),
        itemsize=sizes.itemsize,
        passes=BACKWARD if sizes.backward else 1,
    )


def _projections(sizes: Sizes, how: str) -> Part:
    c, rows = sizes.config, sizes.batch * sizes.seq_len
    each = how == "per_head"  # then heads that share a kv head compute its k and v anew
    columns = (c.num_heads + 2 * (c.num_heads if each else c.num_kv_heads)) * c.head_dim
    reads = {"one": 1, "three": 3}.get(how, 3 * c.num_heads)
    moved = reads * rows * c.d_in + c.d_in * columns + rows * columns
    width = "3·H·d" if each else "(H + 2·K)·d"
    times = {"one": "", "three": "3·"}.get(how, "3·H·")
    return Part(
        2 * rows * c.d_in * columns,
        moved,
        f"2·B·T·d_in·{width}",
        f"{times}B·T·d_in + d_in·{width} + B·T·{width}",
    )


def _cells(sizes: Sizes, *, square: bool) -> tuple[int, str]:
    """The cells of all patterns, and how to write them."""
    per_head = sizes.seq_len**2 if square else sizes.seq_len * (sizes.seq_len + 1) // 2
    return (
        sizes.batch * sizes.config.num_heads * per_head,
        "B·H·T²" if square else "B·H·T·(T + 1)/2",
    )


def _product(sizes: Sizes, *, square: bool, kept: bool, of: str) -> Part:
    """Scores or mix: both read two of q, k, v, z and one square, or write it."""
    cells, written = _cells(sizes, square=square)
    c = sizes.config
    vectors = 2 * sizes.batch * sizes.seq_len * c.d_out
    return Part(
        2 * cells * c.head_dim,
        vectors + (cells if kept else 0),
        f"2·{written}·d",
        f"2·B·T·H·d ({of})" + (f" + {written}" if kept else ""),
    )


def _softmax(sizes: Sizes, steps: int, *, square: bool) -> Part:
    cells, written = _cells(sizes, square=square)
    return Part(0, steps * cells, "0", f"{steps}·{written}" if steps else "0")


def _out(sizes: Sizes) -> Part:
    c, rows = sizes.config, sizes.batch * sizes.seq_len
    if not c.out_proj:
        return Part(0, 0, "0 (no W_O)", "0 (no W_O)")
    moved = rows * c.d_out + c.d_out * c.d_model + rows * c.d_model
    return Part(
        2 * rows * c.d_out * c.d_model,
        moved,
        "2·B·T·H·d·d_model",
        "B·T·H·d + H·d·d_model + B·T·d_model",
    )
