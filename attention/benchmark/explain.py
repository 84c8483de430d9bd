"""How the FLOPs and bytes of a point are worked out: the formulas with their numbers."""

from dataclasses import dataclass

from attention.benchmark.passes import PASSES
from attention.benchmark.settings import BenchmarkSettings
from attention.benchmark.units import in_bytes, in_flops
from attention.benchmark.work import Sizes, work
from attention.implementations import IMPLEMENTATIONS

STEPS = {
    "projections": "q, k, v",
    "scores": "scores",
    "softmax": "mask, softmax",
    "mix": "mix",
    "out": "W_O",
}
EXPLAINED = (
    "A multiplication and an addition are 2 FLOPs; only matrix products are counted. Bytes are "
    "those of operators that read each operand and write their result once. The limit is what "
    "plain matrix products of the same shapes reach in the same run; a kernel that keeps the "
    "scores in the cache can pass it."
)


@dataclass(frozen=True)
class Step:
    """One step of one implementation.

    Attributes:
        implementation: its title.
        step: what is computed.
        flops_formula: in the letters that `letters` explains.
        flops: FLOPs.
        bytes_formula: numbers that are read and written, times bytes each.
        bytes: bytes read and written.
    """

    implementation: str
    step: str
    flops_formula: str
    flops: int
    bytes_formula: str
    bytes: int

    def __str__(self) -> str:
        """One line for a terminal."""
        flops = in_flops(self.flops).removesuffix("/s")
        return (
            f"{self.implementation}, {self.step}: {self.flops_formula} = {flops}; "
            f"{self.bytes_formula} = {in_bytes(self.bytes)}"
        )


def letters(settings: BenchmarkSettings, num_heads: int) -> str:
    """What the letters of the formulas stand for, and what each is at one head count."""
    tokens = PASSES[settings.passes].tokens.format("T")
    sizes = Sizes.of(settings, num_heads)
    config = sizes.config
    values = {
        "B": sizes.batch,
        "T": sizes.seq_len,
        "H": num_heads,
        "K": config.num_kv_heads,
        "d": config.head_dim,
        "d_in": config.d_in,
        "d_model": config.d_model,
    }
    here = ", ".join(f"{letter} = {value:,}" for letter, value in values.items())
    return (
        f"B sequences of {tokens}, H heads and K kv heads of d features: {here}, "
        f"{sizes.itemsize} bytes a number"
    )


def steps(settings: BenchmarkSettings, num_heads: int) -> list[Step]:
    """Every step of every implementation of a benchmark at one head count."""
    sizes = Sizes.of(settings, num_heads)
    found = []
    for name in settings.implementations:
        entry = IMPLEMENTATIONS[name]
        done = work(sizes, entry)
        thrice = f"{done.products}·" if done.products > 1 else ""
        for key, part in done.parts.items():
            many = thrice if part.flops else ""
            found.append(
                Step(
                    entry.title,
                    STEPS[key],
                    f"{many}{part.flops_formula}",
                    done.products * part.flops,
                    f"{thrice}{done.itemsize}·({part.moved_formula})",
                    done.products * done.itemsize * part.moved,
                )
            )
    return found
