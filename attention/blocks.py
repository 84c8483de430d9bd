"""What a model is stacked from: attention, and mostly an MLP, around the residual stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attention.config import AttentionConfig
from attention.implementations.base import Observation
from attention.implementations.batched import BatchedAttention
from attention.layer_record import LayerRecord, PatternRule
from attention.model_config import ACTIVATIONS, ModelConfig
from attention.rotary import NormedPositions, Positions, Rotary

MLP_AT_ONCE = 256  # positions: its inner width, mostly 4 · d_model, is a pass's largest tensor


class MLP(nn.Module):
    """Two linear maps with an activation between them."""

    def __init__(self, config: ModelConfig, d_mlp: int) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.up = nn.Linear(config.d_model, d_mlp, bias=config.mlp_bias)
        self.down = nn.Linear(d_mlp, config.d_model, bias=config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map each position by itself."""
        out: Tensor = self.down(self.activation(self.up(x)))
        return out


class GatedMLP(nn.Module):
    """As `MLP`, but one linear map gates another.

    Source: Shazeer 2020, GLU Variants Improve Transformer.
    """

    def __init__(self, config: ModelConfig, d_mlp: int) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.gate = nn.Linear(config.d_model, d_mlp, bias=config.mlp_bias)
        self.up = nn.Linear(config.d_model, d_mlp, bias=config.mlp_bias)
        self.down = nn.Linear(d_mlp, config.d_model, bias=config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        """See `MLP`."""
        out: Tensor = self.down(self.activation(self.gate(x)) * self.up(x))
        return out


def make_norm(config: ModelConfig, width: int) -> nn.Module:
    """The norm that a model uses, for so many features."""
    if config.norm == "rms":
        return nn.RMSNorm(width, eps=config.norm_eps)
    return nn.LayerNorm(
        width,
        eps=config.norm_eps,
        elementwise_affine=config.norm_weight,
        bias=config.norm_bias and config.norm_weight,
    )


@dataclass(frozen=True)
class LayerObservation:
    """What one layer showed during a forward pass: q, k, v, its pattern if asked for, its sizes."""

    qkv: Observation
    pattern: Tensor | None
    config: AttentionConfig

    def record(self) -> LayerRecord:
        """What is kept of it: the first text's q, k and v, and how they become the pattern."""
        q, k, v = (t[0] for t in (self.qkv.q, self.qkv.k, self.qkv.v))
        return LayerRecord(q, k, v, PatternRule.of(self.config))


class Block(nn.Module):
    """Attention and MLP, each read from the residual stream through a norm and added to it.

    Without `d_mlp` there is neither the MLP nor its norm: an attention-only block.

    Args:
        config: the model's sizes.
        index: which layer it is.
    """

    def __init__(self, config: ModelConfig, index: int = 0) -> None:
        super().__init__()
        self.residual = config.residual
        self.norm_attn = make_norm(config, config.d_model)
        self.attn = BatchedAttention(config.attention_of(index))
        self.norm_q = self.norm_k = self.norm_attn_out = self.norm_mlp_out = None
        if config.qk_norm:
            self.norm_q = make_norm(config, config.attention.head_dim)
            self.norm_k = make_norm(config, config.attention.head_dim)
        if config.post_norms:
            self.norm_attn_out = make_norm(config, config.d_model)
        self.has_mlp = config.d_mlp is not None
        if config.d_mlp is not None:
            if config.residual != "shared":
                self.norm_mlp = make_norm(config, config.d_model)
            self.mlp = (GatedMLP if config.gated else MLP)(config, config.d_mlp)
            if config.post_norms:
                self.norm_mlp_out = make_norm(config, config.d_model)

    def positions(self, rotary: Rotary | None) -> Positions | None:
        """What this layer does to q and k before the scores."""
        if self.norm_q is None or self.norm_k is None:
            return rotary
        return NormedPositions(self.norm_q, self.norm_k, rotary)

    def forward(
        self,
        resid: Tensor,
        rotary: Rotary | None,
        attn: Callable[..., Any],
        watch: Callable[[LayerObservation], None] | None = None,
        need_pattern: bool = False,
    ) -> Tensor:
        """One step of the residual stream, the heads computed by `attn`."""
        x = resid if self.residual == "post" else self.norm_attn(resid)
        attn_out = self._attend(x, rotary, attn, watch, need_pattern)
        if self.norm_attn_out is not None:
            attn_out = self.norm_attn_out(attn_out)
        if self.residual == "post":
            resid = self.norm_attn(resid + attn_out)
            return self.norm_mlp(resid + self._mlp_out(resid)) if self.has_mlp else resid
        if not self.has_mlp:
            return resid + attn_out
        if self.residual == "sequential":
            resid = resid + attn_out
            del x, attn_out  # each as large as the stream
            return resid + self._mlp_out(self.norm_mlp(resid))
        mlp_out = self._mlp_out(x if self.residual == "shared" else self.norm_mlp(resid))
        return resid + attn_out + mlp_out

    def _mlp_out(self, x: Tensor) -> Tensor:
        """The MLP, which maps each position by itself: of a long text some at a time."""
        out: Tensor
        if torch.is_grad_enabled() or x.shape[1] <= MLP_AT_ONCE:
            out = self.mlp(x)
        else:
            out = torch.empty_like(x)
            for some, into in zip(
                x.split(MLP_AT_ONCE, dim=1), out.split(MLP_AT_ONCE, dim=1), strict=True
            ):
                into.copy_(self.mlp(some))
        return out if self.norm_mlp_out is None else self.norm_mlp_out(out)

    def _attend(
        self,
        x: Tensor,
        rotary: Rotary | None,
        attn: Callable[..., Any],
        watch: Callable[[LayerObservation], None] | None,
        need_pattern: bool,
    ) -> Tensor:
        positions = self.positions(rotary)
        if watch is None:
            out: Tensor = attn(x, rotary=positions)
            return out
        seen: list[Observation] = []
        found = attn(x, need_pattern=need_pattern, rotary=positions, observe=seen.append)
        attn_out, pattern = found if need_pattern else (found, None)
        watch(LayerObservation(seen[0], pattern, self.attn.config))
        result: Tensor = attn_out
        return result
