"""What a model is stacked from: attention, and mostly an MLP, around the residual stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from attention.implementations.base import Observation
from attention.implementations.batched import BatchedAttention
from attention.model_config import ModelConfig
from attention.rotary import Rotary


class GatedMLP(nn.Module):
    """SwiGLU: one linear map gates another.

    Source: Shazeer 2020, GLU Variants Improve Transformer.
    """

    def __init__(self, d_model: int, d_mlp: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_mlp, bias=False)
        self.up = nn.Linear(d_model, d_mlp, bias=False)
        self.down = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map each position by itself."""
        out: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return out


@dataclass(frozen=True)
class LayerObservation:
    """What one layer showed during a forward pass: q, k, v, and its pattern if asked for."""

    qkv: Observation
    pattern: Tensor | None


class Block(nn.Module):
    """Attention, then MLP, each added to the residual stream after a norm of its input.

    Without `d_mlp` there is neither the MLP nor its norm: an attention-only block.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_attn = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.attn = BatchedAttention(config.attention)
        self.has_mlp = config.d_mlp is not None
        if config.d_mlp is not None:
            self.norm_mlp = nn.RMSNorm(config.d_model, eps=config.norm_eps)
            self.mlp = GatedMLP(config.d_model, config.d_mlp)

    def forward(
        self,
        resid: Tensor,
        rotary: Rotary,
        attn: Callable[..., Any],
        watch: Callable[[LayerObservation], None] | None = None,
        need_pattern: bool = False,
    ) -> Tensor:
        """One step of the residual stream, the heads computed by `attn`."""
        x = self.norm_attn(resid)
        if watch is None:
            attn_out = attn(x, rotary=rotary)
        else:
            seen: list[Observation] = []
            found = attn(x, need_pattern=need_pattern, rotary=rotary, observe=seen.append)
            attn_out, pattern = found if need_pattern else (found, None)
            watch(LayerObservation(seen[0], pattern))
        resid = resid + attn_out
        if not self.has_mlp:
            return resid
        out: Tensor = resid + self.mlp(self.norm_mlp(resid))
        return out
