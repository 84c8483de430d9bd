"""What a benchmark measures: sizes, implementations, where, and for how long."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from attention.benchmark.load import usable_cores
from attention.benchmark.passes import PASSES
from attention.config import AttentionConfig
from attention.devices import DTYPES
from attention.errors import (
    LARGEST,
    ConfigError,
    is_number,
    require_choice,
    require_positive,
    require_seed,
)
from attention.implementations import IMPLEMENTATIONS

Reading = Literal["total", "per_head"]
Passes = Literal["forward", "backward", "decode"]  # the keys of PASSES
Allocator = Literal["user", "tuned"]
L2 = Literal["cold", "warm"]

MOST_THREADS = 1024  # beyond any machine; torch dies of what the system cannot start
GPT2_WIDTH = 768  # d_in where nothing else says it


def default_threads() -> int:
    """Half the cores: the other half is for the browser, the server and the system."""
    return max(1, usable_cores() // 2)


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings:
    """One attention layer, to be timed at several head counts.

    Exactly one of `d_out` and `d_out_per_head` is given, which chooses the question that the
    benchmark answers.

    Attributes:
        heads: the head counts, in the order in which they are measured.
        implementations: keys of IMPLEMENTATIONS, timed in turns.
        d_out: total width, features: head_dim shrinks as heads are added.
        d_out_per_head: width of each head, features: the layer grows as heads are added.
        d_in: width of the input, features; by default d_out, or 768 with d_out_per_head.
        num_kv_heads: key and value heads, shared evenly; None for one to each head.
        seq_len: tokens; for decode those that are kept.
        context_length: tokens that the layer is made for, by default those that it reads; the
            book's loop converts a mask of that side in every head.
        batch: sequences.
        passes: a key of PASSES: what is timed.
        device: cpu, cuda:0, mps.
        dtype: a key of DTYPES.
        threads: torch's threads within an operator.
        allocator: as a user's program would run, or glibc told to keep freed memory.
        compiled: whether `torch.compile` makes kernels of each implementation first.
        l2: whether a GPU's L2 cache is emptied before each call (cold) or left as it is.
        min_run_time: seconds to sample each implementation for at each head count.
        rounds: turns that each implementation gets in that time.
        seed: of the weights and the input.
        patience: seconds without a sign of life after which a measuring process is ended.
    """

    heads: tuple[int, ...]
    implementations: tuple[str, ...] = ("looped", "batched")
    d_out: int | None = None
    d_out_per_head: int | None = None
    d_in: int | None = None
    num_kv_heads: int | None = None
    seq_len: int = 64
    context_length: int | None = None
    batch: int = 1
    passes: Passes = "forward"
    device: str = "cpu"
    dtype: str = "float32"
    threads: int = field(default_factory=default_threads)
    allocator: Allocator = "user"
    compiled: bool = False
    l2: L2 = "cold"
    min_run_time: float = 0.1
    rounds: int = 5
    seed: int = 0
    patience: float = field(default=600.0, compare=False)  # decides no time

    def __post_init__(self) -> None:
        """Check every setting, and every head count against the width."""
        if (self.d_out is None) == (self.d_out_per_head is None):
            raise ConfigError(
                "exactly one of d_out (the total) and d_out_per_head must be given; "
                f"got d_out {self.d_out} and d_out_per_head {self.d_out_per_head}."
            )
        for name in ("heads", "implementations"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence) or not value:
                raise ConfigError(f"{name} must be a list of at least one; got {value!r}.")
        for name in ("seq_len", "batch", "threads", "rounds"):
            require_positive(name, getattr(self, name))
        for name in self.implementations:
            require_choice("implementation", name, list(IMPLEMENTATIONS))
        require_choice("passes", self.passes, list(PASSES))
        self._check_context()
        require_choice("dtype", self.dtype, list(DTYPES))
        require_choice("allocator", self.allocator, get_args(Allocator))
        require_choice("l2", self.l2, get_args(L2))
        require_seed(self.seed)
        if self.threads > MOST_THREADS:
            raise ConfigError(f"threads must be at most {MOST_THREADS}; got {self.threads}.")
        for name in ("min_run_time", "patience"):
            seconds = getattr(self, name)
            if not is_number(seconds) or seconds <= 0:
                raise ConfigError(f"{name} must be above 0 seconds; got {seconds!r}.")
        for num_heads in self.heads:
            self.config(num_heads)

    def _check_context(self) -> None:
        if self.seq_len >= LARGEST:  # or the layer would speak of its context_length
            raise ConfigError(f"seq_len must be below {LARGEST}; got {self.seq_len}.")
        if self.context_length is None:
            return
        require_positive("context_length", self.context_length)
        if self.context_length < self.tokens:
            more = " and the new token" if self.tokens > self.seq_len else ""
            raise ConfigError(
                f"context_length must be at least seq_len {self.seq_len}{more}; "
                f"got {self.context_length}."
            )

    @property
    def tokens(self) -> int:
        """What the layer reads: seq_len, and for decode the new token."""
        return self.seq_len + PASSES[self.passes].extra

    @property
    def reading(self) -> Reading:
        """What `d_out` means: the total, or the width of each head."""
        return "per_head" if self.d_out is None else "total"

    @property
    def width(self) -> int:
        """The number that is held fixed: d_out or d_out_per_head, features."""
        width = self.d_out if self.d_out_per_head is None else self.d_out_per_head
        assert width is not None  # one of them is given
        return width

    @property
    def on_one_core(self) -> bool:
        """Whether all the work is done by one thread on the CPU."""
        return self.device == "cpu" and self.threads == 1

    def config(self, num_heads: int) -> AttentionConfig:
        """The layer at one head count.

        The total reading has W_O; the per-head reading has none, as in the book's wrapper.

        Raises:
            ConfigError: when a size is below 1, num_heads does not divide the total width, or
                num_kv_heads does not divide num_heads.
        """
        kv, length = self.num_kv_heads, self.context_length or self.tokens
        if self.d_out_per_head is not None:
            d_in = GPT2_WIDTH if self.d_in is None else self.d_in
            return AttentionConfig.per_head(
                d_in, self.d_out_per_head, num_heads, length, num_kv_heads=kv
            )
        d_in = self.width if self.d_in is None else self.d_in
        return AttentionConfig.total(d_in, self.width, num_heads, length, num_kv_heads=kv)

    def patience_for(self, calls: int) -> float:
        """Seconds to wait for a sign of life while so many calls are sampled in turns."""
        return self.patience + 2 * calls * self.min_run_time

    def with_heads(self, *heads: int) -> "BenchmarkSettings":
        """The same benchmark at other head counts."""
        return replace(self, heads=heads)

    @property
    def family(self) -> "BenchmarkSettings":
        """The same for all that differ in head counts only: what belongs in one picture."""
        return self.with_heads(self.num_kv_heads or 1)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "BenchmarkSettings":
        """The inverse of `to_json`, after a journey through JSON."""
        lists = {"heads": tuple(values["heads"])}
        lists["implementations"] = tuple(values["implementations"])
        return cls(**{**values, **lists})
