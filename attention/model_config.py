"""The sizes of a whole language model."""

from dataclasses import dataclass

from attention.config import AttentionConfig
from attention.errors import ConfigError, is_number, require_index, require_positive


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes of a model of pre-norm blocks with rotary positions and tied embeddings.

    Attributes:
        vocab_size: tokens it knows.
        num_layers: blocks.
        d_mlp: width of the gated MLP's hidden layer, features; None for blocks that are
            attention and nothing else.
        attention: the sizes of every block's attention layer.
        rope_theta: base of the rotary wavelengths.
        norm_eps: added to the mean square under the root in RMSNorm.
        bos_token_id: the token put first, or None.
    """

    vocab_size: int
    num_layers: int
    d_mlp: int | None
    attention: AttentionConfig
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5
    bos_token_id: int | None = None

    def __post_init__(self) -> None:
        """Check the sizes that AttentionConfig does not."""
        for name in ("vocab_size", "num_layers"):
            require_positive(name, getattr(self, name))
        if self.d_mlp is not None:
            require_positive("d_mlp", self.d_mlp)
        for name in ("rope_theta", "norm_eps"):
            if not is_number(getattr(self, name)) or getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be a number above 0; got {getattr(self, name)!r}.")
        if self.bos_token_id is not None:
            require_index("bos_token_id", self.bos_token_id, self.vocab_size)
        if self.attention.head_dim % 2:
            raise ConfigError(
                f"head_dim must be even for rotary positions; got {self.attention.head_dim}."
            )
        if not self.attention.out_proj or self.attention.d_model != self.attention.d_in:
            raise ConfigError("attention of a model must have out_proj and d_model equal to d_in.")

    @property
    def d_model(self) -> int:
        """Width of the residual stream, features."""
        return self.attention.d_in

    @property
    def num_heads(self) -> int:
        """Query heads in each layer."""
        return self.attention.num_heads

    @property
    def context_length(self) -> int:
        """The longest text, tokens."""
        return self.attention.context_length
