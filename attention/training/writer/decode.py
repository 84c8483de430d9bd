"""Write many texts at once with a kv cache: keys and values are computed once a token."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from attention.blocks import Block
from attention.errors import HeadscopeError
from attention.implementations.base import merge_heads, split_heads
from attention.implementations.batched import BatchedAttention
from attention.model import LanguageModel


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: above 0; 1 draws as the model expects, more evens out.
        top_k: only from so many of the likeliest tokens.
    """

    temperature: float
    top_k: int

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise HeadscopeError(f"temperature must be above 0; got {self.temperature}")
        if self.top_k < 1:
            raise HeadscopeError(f"top_k must be at least 1; got {self.top_k}")

    def draw(
        self, logits: Float[Tensor, "batch vocab_size"], generator: torch.Generator
    ) -> Int[Tensor, " batch"]:
        """Draw each row's next token."""
        best, ids = logits.float().topk(min(self.top_k, logits.shape[-1]), dim=-1)
        drawn = torch.multinomial((best / self.temperature).softmax(-1), 1, generator=generator)
        return ids.gather(1, drawn)[:, 0]


@torch.inference_mode()
def decode(
    model: LanguageModel,
    prompts: Int[Tensor, "batch pos"],
    num_tokens: int,
    *,
    end: int,
    sampling: Sampling,
    seed: int,
) -> list[list[int]]:
    """Go on writing each prompt until its end token or ``num_tokens``.

    Leaves out padding: the prompts are equally long.

    Args:
        model: writes; its attention may share kv heads.
        prompts: token ids, a text a row.
        num_tokens: how many to add at most.
        end: the token after which a text is over.
        sampling: how tokens are drawn.
        seed: of the draws.

    Returns:
        What was added to each prompt, without the end token.

    Raises:
        HeadscopeError: prompts and added tokens do not fit into the model's context.
    """
    batch, start = prompts.shape
    if start + num_tokens > model.config.context_length:
        raise HeadscopeError(
            f"num_tokens must be at most {model.config.context_length - start} after prompts of "
            f"{start}; got {num_tokens}"
        )
    cache = KVCache(model, batch, start + num_tokens)
    generator = torch.Generator().manual_seed(seed)
    written = torch.full((batch, num_tokens), end, dtype=torch.int64)
    over = torch.zeros(batch, dtype=torch.bool)
    ids = prompts
    for step in range(num_tokens):
        token = sampling.draw(cache.next_logits(ids), generator)
        over |= token == end
        written[:, step] = token.masked_fill(over, end)
        if over.all():
            break
        ids = token[:, None]
    return [row[: row.index(end)] if end in row else row for row in written.tolist()]


class KVCache:
    """The keys and values of everything read so far, for every layer of a model.

    Args:
        model: whose.
        batch: texts that are read at once.
        room: the most tokens of a text.
    """

    def __init__(self, model: LanguageModel, batch: int, room: int) -> None:
        attention = model.config.attention
        self.model = model
        self.read = 0
        shape = (
            model.config.num_layers,
            2,
            batch,
            attention.num_kv_heads,
            room,
            attention.head_dim,
        )
        self.kept = torch.zeros(shape, dtype=model.dtype, device=model.device)

    def next_logits(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch vocab_size"]:
        """Read the tokens that follow; return the logits after the last of them."""
        end = self.read + ids.shape[1]
        rotary = self.model.rotary
        turn = (rotary.cos[self.read : end], rotary.sin[self.read : end])
        resid = self.model.embed(ids)
        for layer, block in enumerate(self.model.blocks):
            assert isinstance(block, Block)
            x = block.norm_attn(resid)
            resid = resid + self._attend(block.attn, x, self.kept[layer, :, :, :, :end], turn)
            resid = resid + block.mlp(block.norm_mlp(resid))
        self.read = end
        return functional.linear(self.model.norm(resid[:, -1]), self.model.embed.weight)

    def _attend(
        self, attn: BatchedAttention, x: Tensor, kept: Tensor, turn: tuple[Tensor, Tensor]
    ) -> Tensor:
        config = attn.config
        q, k, v = attn.project(x)
        q = split_heads(q, config.num_heads)
        k, v = (split_heads(t, config.num_kv_heads) for t in (k, v))
        kept[0, :, :, self.read :], kept[1, :, :, self.read :] = turned(k, turn), v
        batch, heads, pos, head_dim = q.shape
        q = turned(q, turn)
        if pos > 1:
            z = functional.scaled_dot_product_attention(
                q, kept[0], kept[1], is_causal=True, enable_gqa=True, scale=config.scale
            )
        else:  # the query heads of one kv head as so many queries: nothing is copied
            k, v = (t.flatten(0, 1) for t in kept)
            grouped = q.reshape(len(k), config.heads_per_kv, head_dim)
            pattern = (torch.bmm(grouped, k.transpose(1, 2)) * config.scale).softmax(-1)
            z = torch.bmm(pattern, v).reshape(batch, heads, pos, head_dim)
        out: Tensor = attn.out_proj(merge_heads(z))
        return out


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate q or k as `Rotary` does, at the positions of ``turn``."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)
