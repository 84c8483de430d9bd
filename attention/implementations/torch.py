"""PyTorch's own layer, `nn.MultiheadAttention`, asked for the pattern of every head."""

from torch import Tensor, nn
from torch.nn.functional import linear

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.implementations.base import (
    AttentionModule,
    Observation,
    Observe,
    Output,
    split_heads,
)
from attention.kv_cache import KVCache
from attention.limits import Asked
from attention.rotary import Positions


class TorchAttention(AttentionModule):
    """`nn.MultiheadAttention` with `need_weights=True, average_attn_weights=False`.

    Its mask says where a query may NOT attend, the opposite of SDPA's. It hands no q, k and v
    out: they are projected once more for whoever observes. In training its pattern is the one
    after dropout. One switch, `bias`, stands for its input and its output; with an output bias
    alone the input's parameter is taken away.

    It has a fast path (`torch._native_multi_head_attention`), which it takes for an even number
    of heads with both biases, in eval mode, where no gradient is wanted: `torch.inference_mode()`
    or `no_grad()`. A layer without biases of q, k and v, such as those of the benchmark, never
    gets there. The pattern is always asked for, so the products are the same with it and without;
    with `need_weights=False` it would be `scaled_dot_product_attention`, which is `sdpa` here.

    Keep its parameters trainable: where they are frozen and there is no bias, PyTorch multiplies
    token by token, which takes several times as long.

    Source: torch.nn.MultiheadAttention.
    """

    layout = "torch"
    kept_in = "attention"

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.attention = nn.MultiheadAttention(
            config.d_out,
            config.num_heads,
            dropout=config.dropout,
            bias=config.out_bias,
            batch_first=True,
        )
        if not config.qkv_bias:
            self.attention.register_parameter("in_proj_bias", None)

    def forward(
        self,
        x: Tensor,
        need_pattern: bool = False,
        *,
        rotary: Positions | None = None,
        observe: Observe | None = None,
        cache: KVCache | None = None,
    ) -> Output:
        """See `AttentionModule`.

        Raises:
            ConfigError: when there are rotary positions or a cache: it takes neither.
        """
        self.check_input(x)
        reason = self.limits(Asked(self.config, rotary is not None, x.device))
        if reason is not None:
            raise ConfigError(reason)
        if cache is not None:
            raise ConfigError(
                "cache must be None for torch: nn.MultiheadAttention computes every key and value "
                "anew; got a cache. Use another implementation, such as sdpa."
            )
        if observe is not None:
            observe(self._observation(x))
        seq_len = x.shape[1]
        blocked = self.mask(seq_len, x.device).logical_not()
        out, pattern = self.attention(
            x, x, x, attn_mask=blocked, need_weights=True, average_attn_weights=False
        )
        return (out, pattern) if need_pattern else out

    def _observation(self, x: Tensor) -> Observation:
        packed = linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias)
        q, k, v = (split_heads(t, self.config.num_heads) for t in packed.chunk(3, dim=-1))
        return Observation(q, k, v)

    @staticmethod
    def limits(asked: Asked) -> str | None:
        """What `nn.MultiheadAttention` cannot compute: it has one width and its own kv heads."""
        config = asked.config
        if asked.rotary:
            return (
                "rotary positions must be off for torch: nn.MultiheadAttention projects and "
                "scores in one call, and q and k would be turned in between; got rotary positions. "
                "Use another implementation, such as batched."
            )
        if config.fixed_scale is not None or config.soft_cap is not None:
            return (
                "fixed_scale and soft_cap must be None for torch: nn.MultiheadAttention scales by "
                f"1/sqrt(head_dim) and caps nothing; got {config.fixed_scale} and "
                f"{config.soft_cap}. Use another implementation, such as batched."
            )
        if config.num_kv_heads != config.num_heads:
            return (
                "num_kv_heads must equal num_heads for torch: nn.MultiheadAttention has keys and "
                f"values for every head; got {config.num_kv_heads} kv heads for "
                f"{config.num_heads} heads. Use another implementation, such as grouped."
            )
        if not config.d_in == config.d_out == config.d_model:
            return (
                "d_in, d_out and d_model must be equal for torch: nn.MultiheadAttention has one "
                f"width, embed_dim; got {config.d_in}, {config.d_out} and {config.d_model}. "
                "Use another implementation, such as fused."
            )
        if not config.out_proj:
            return (
                "out_proj must be on for torch: nn.MultiheadAttention always ends with W_O; "
                "got a layer without. Use another implementation, such as batched."
            )
        if config.qkv_bias and not config.out_bias:
            return (
                "qkv_bias must come with out_bias for torch: nn.MultiheadAttention has one switch "
                "for both; got qkv_bias alone. Use another implementation, such as fused."
            )
        return None
