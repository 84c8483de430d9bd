"""The shape of one multi-head attention layer, and the two readings of `d_out`."""

from dataclasses import dataclass
from math import inf, isqrt

from attention.errors import ConfigError, is_number, require_size


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Sizes and switches of one causal multi-head attention layer.

    Built through `total` or `per_head`, which differ in what their second argument
    means. It leaves positions (rotary or other) to the model.

    Attributes:
        d_in: width of the input, features.
        num_heads: query heads.
        head_dim: width of one head's q, k, v and z, features.
        context_length: the longest sequence, tokens.
        num_kv_heads: key and value heads; query head h uses h // (num_heads / num_kv_heads).
        d_model: width after W_O, features; `d_out` where there is no W_O.
        qkv_bias: whether the q, k, v projections add a bias.
        out_proj: whether the concatenated heads go through W_O.
        out_bias: whether W_O adds a bias.
        dropout: share of the pattern's weights dropped in training, 0 to 1; inactive in eval.
        fixed_scale: the factor on q·k where it is another than 1/sqrt(head_dim).
        soft_cap: scores are squeezed to within -soft_cap and soft_cap before the mask, as
            soft_cap * tanh(score / soft_cap); None leaves them as they are.
        window: how many tokens a query may attend to, its own the last of them; None for all.
    """

    d_in: int
    num_heads: int
    head_dim: int
    context_length: int
    num_kv_heads: int
    d_model: int
    qkv_bias: bool = False
    out_proj: bool = True
    out_bias: bool = True
    dropout: float = 0.0
    fixed_scale: float | None = None
    soft_cap: float | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        """Check every size and the combination of heads."""
        for name in ("d_in", "num_heads", "head_dim", "context_length", "num_kv_heads", "d_model"):
            require_size(name, getattr(self, name))
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                f"num_kv_heads must divide num_heads; got {self.num_kv_heads} kv heads for "
                f"{self.num_heads} heads. Choices: {', '.join(map(str, divisors(self.num_heads)))}."
            )
        if not is_number(self.dropout) or not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout must be at least 0 and below 1; got {self.dropout!r}.")
        for name in ("fixed_scale", "soft_cap"):
            value = getattr(self, name)
            if value is not None and (not is_number(value) or not 0.0 < value < inf):
                raise ConfigError(f"{name} must be a number above 0; got {value!r}.")
        if self.window is not None:
            require_size("window", self.window)
        if not self.out_proj and self.d_model != self.d_out:
            raise ConfigError(
                f"d_model must equal d_out without out_proj; got {self.d_model} and {self.d_out}."
            )

    @property
    def d_out(self) -> int:
        """Width of the concatenated heads: num_heads * head_dim, features."""
        return self.num_heads * self.head_dim

    @property
    def heads_per_kv(self) -> int:
        """How many query heads share one kv head."""
        return self.num_heads // self.num_kv_heads

    @property
    def scale(self) -> float:
        """The factor on q·k: 1/sqrt(head_dim) (Vaswani et al. 2017, section 3.2.1), or its own."""
        return float(self.head_dim**-0.5) if self.fixed_scale is None else float(self.fixed_scale)

    def window_in(self, keys: int) -> int | None:
        """The window where it leaves out any of so many keys; None where all are within it."""
        return None if self.window is None or keys <= self.window else self.window

    @classmethod
    def total(
        cls,
        d_in: int,
        d_out: int,
        num_heads: int,
        context_length: int,
        *,
        qkv_bias: bool = False,
        out_proj: bool = True,
        out_bias: bool = True,
        dropout: float = 0.0,
        num_kv_heads: int | None = None,
    ) -> "AttentionConfig":
        """`d_out` is the total width: each head gets d_out // num_heads of it.

        Raises:
            ConfigError: when num_heads does not divide d_out; names the nearest numbers that do.

        Example:
            `AttentionConfig.total(768, 768, 12, 1024).head_dim` is 64.
        """
        require_size("d_out", d_out)
        require_size("num_heads", num_heads)
        if d_out % num_heads:
            raise ConfigError(_indivisible(d_out, num_heads))
        return cls(
            d_in=d_in,
            num_heads=num_heads,
            head_dim=d_out // num_heads,
            context_length=context_length,
            num_kv_heads=num_heads if num_kv_heads is None else num_kv_heads,
            d_model=d_out,
            qkv_bias=qkv_bias,
            out_proj=out_proj,
            out_bias=out_bias,
            dropout=dropout,
        )

    @classmethod
    def per_head(
        cls,
        d_in: int,
        d_out_per_head: int,
        num_heads: int,
        context_length: int,
        *,
        qkv_bias: bool = False,
        out_proj: bool = False,
        out_bias: bool = True,
        dropout: float = 0.0,
        num_kv_heads: int | None = None,
    ) -> "AttentionConfig":
        """Each head is `d_out_per_head` wide: the concatenation is num_heads times as wide.

        This is what `d_out` means in the book's MultiHeadAttentionWrapper.

        Raises:
            ConfigError: when a size is not a whole number of at least 1.

        Example:
            `AttentionConfig.per_head(3, 2, 2, 6).d_out` is 4.
        """
        require_size("d_out_per_head", d_out_per_head)
        require_size("num_heads", num_heads)
        return cls.total(
            d_in,
            d_out_per_head * num_heads,
            num_heads,
            context_length,
            qkv_bias=qkv_bias,
            out_proj=out_proj,
            out_bias=out_bias,
            dropout=dropout,
            num_kv_heads=num_kv_heads,
        )


def divisors(n: int) -> list[int]:
    """The whole numbers that divide n, rising: the head counts that a total of n allows."""
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    return small + [n // d for d in reversed(small) if d * d != n]


def _indivisible(d_out: int, num_heads: int) -> str:
    below = d_out - d_out % num_heads
    totals = [str(n) for n in (below, below + num_heads) if n]
    counts = divisors(d_out)
    fewer = max(n for n in counts if n < num_heads)
    more = min((n for n in counts if n > num_heads), default=None)
    heads = str(fewer) if more is None else f"{fewer} and {more}"
    return (
        f"d_out must be divisible by num_heads; got d_out {d_out} and num_heads {num_heads}. "
        f"Nearest totals for {num_heads} heads: {' and '.join(totals)}; "
        f"nearest head counts for {d_out}: {heads}."
    )
