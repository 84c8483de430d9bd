"""The layers of a causal transformer, stacked: token ids to logits."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention.blocks import Block, LayerObservation, make_norm
from attention.decoding import Attention
from attention.model_config import ModelConfig
from attention.read_out import Unembedding
from attention.rotary import Rope, Rotary

Watch = Callable[[LayerObservation], None]


class Transformer(nn.Module):
    """Embedding, blocks, norm, read-out. How the heads are computed is handed in.

    Args:
        config: its sizes.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        width = config.embed_dim or config.d_model
        self.embed = nn.Embedding(config.vocab_size, width)
        self.project_in = self.project_out = None
        if config.embed_dim is not None:
            self.project_in = nn.Linear(width, config.d_model, bias=False)
            self.project_out = nn.Linear(config.d_model, width, bias=False)
        self.embed_positions = (
            None if config.positions is None else nn.Embedding(config.positions, config.d_model)
        )
        self.blocks = nn.ModuleList(Block(config, i) for i in range(config.num_layers))
        self.norm = make_norm(config, config.d_model) if config.final_norm else None
        self.unembed = (
            None if config.tied else nn.Linear(width, config.vocab_size, bias=config.unembed_bias)
        )
        self.rotaries = nn.ModuleList()
        self._rotary_of: dict[Rope, int] = {}
        for rope in (config.layer(i).rope for i in range(config.num_layers)):
            if rope is not None and rope not in self._rotary_of:
                self._rotary_of[rope] = len(self.rotaries)
                self.rotaries.append(
                    Rotary(config.attention.head_dim, config.context_length, rope=rope)
                )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embed.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are kept and computed in."""
        return self.embed.weight.dtype

    def rotary(self, layer: int) -> Rotary | None:
        """What turns q and k of a layer; None where they are not turned."""
        rope = self.config.layer(layer).rope
        if rope is None:
            return None
        rotary = self.rotaries[self._rotary_of[rope]]
        assert isinstance(rotary, Rotary)  # no other is put there
        return rotary

    def begin(
        self, ids: Int[Tensor, "batch pos"], start: int = 0
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream before the first block.

        Args:
            ids: token ids.
            start: the position of the first of them.
        """
        resid: Tensor = self.embed(ids)
        if self.config.embed_scale != 1:
            resid = resid * torch.tensor(self.config.embed_scale, dtype=resid.dtype)
        if self.project_in is not None:
            resid = self.project_in(resid)
        if self.embed_positions is not None:
            first = self.config.position_offset + start
            resid = resid + self.embed_positions.weight[first : first + ids.shape[1]]
        return resid

    def step(
        self,
        layer: int,
        resid: Float[Tensor, "batch pos d_model"],
        attn: Callable[..., object],
        *,
        watch: Watch | None = None,
        need_pattern: bool = False,
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream after one more block, whose heads are computed by `attn`."""
        out: Tensor = self.blocks[layer](resid, self.rotary(layer), attn, watch, need_pattern)
        return out

    def read_out(
        self, resid: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos vocab_size"]:
        """Logits from the residual stream after the last block."""
        return self.unembedding()(resid)

    def unembedding(self) -> Unembedding:
        """What makes logits of the residual stream."""
        last = self.embed if self.unembed is None else self.unembed
        bias = None if self.unembed is None else self.unembed.bias
        return Unembedding(self.norm, self.project_out, last.weight, bias, self.config.logit_cap)

    def stream(
        self,
        ids: Int[Tensor, "batch pos"],
        attention: Attention,
        *,
        start: int = 0,
        watch: Watch | None = None,
        need_pattern: bool = False,
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream after the last block."""
        resid = self.begin(ids, start)
        for layer, attn in zip(range(self.config.num_layers), attention, strict=True):
            resid = self.step(layer, resid, attn, watch=watch, need_pattern=need_pattern)
        return resid

    def next_logits(
        self, ids: Int[Tensor, "batch pos"], attention: Attention, *, start: int = 0
    ) -> Float[Tensor, "batch vocab_size"]:
        """Logits for the token after the last position only.

        Args:
            ids: token ids.
            attention: one a block.
            start: the position of the first of them: how many a kv cache holds.
        """
        return self.read_out(self.stream(ids, attention, start=start)[:, -1:])[:, 0]
