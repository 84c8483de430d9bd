"""Heads as an axis of every parameter: 3-D weights, and nothing is reshaped on the way."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention.implementations.base import Observation, Observe, Output, rotated
from attention.implementations.reference import ReferenceAttention
from attention.kv_cache import KVCache
from attention.rotary import Positions


class EinsumAttention(ReferenceAttention):
    """The reference's 3-D parameters, every product an einsum that names its axes.

    A head is an index: `W_Q[h]`, `W_O[h]`. Sharding or sharing heads is then a slice of the
    parameters, where a 2-D matrix needs to know which rows belong to whom. The axes are
    b batch, h head, q query, k key, i d_in, d head_dim, m d_model.

    Source: the head-explicit parameters of TransformerLens.
    """

    def forward(
        self,
        x: Tensor,
        need_pattern: bool = False,
        *,
        rotary: Positions | None = None,
        observe: Observe | None = None,
        cache: KVCache | None = None,
    ) -> Output:
        """See `AttentionModule`."""
        self.check_input(x, cache)
        q = projected(x, self.W_Q, self.b_Q)
        k, v = projected(x, self.W_K, self.b_K), projected(x, self.W_V, self.b_V)
        q, k = rotated(q, k, rotary, 0 if cache is None else cache.read)
        if observe is not None:
            observe(Observation(q, k, v))
        if cache is not None:
            k, v = cache.extend(k, v)
            cache.advance(x.shape[1])
        shared = self.config.heads_per_kv
        if shared > 1:
            k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        scores = torch.einsum("bhqd,bhkd->bhqk", q * self.config.scale, k)
        pattern = self.softmax(scores)
        z = torch.einsum("bhqk,bhkd->bhqd", self.dropout(pattern), v)
        out = self._mixed(z)
        return (out, pattern) if need_pattern else out

    def _mixed(self, z: Tensor) -> Tensor:
        """Each head through its slice of W_O, summed; or the heads side by side."""
        if self.W_O is None:
            return torch.cat(z.unbind(dim=1), dim=-1)
        out = torch.einsum("bhqd,hdm->bqm", z, self.W_O)
        return out if self.b_O is None else out + self.b_O


def projected(
    x: Float[Tensor, "batch pos d_in"],
    weight: Float[Tensor, "heads d_in head_dim"],
    bias: Float[Tensor, "heads head_dim"] | None,
) -> Float[Tensor, "batch heads pos head_dim"]:
    """Put x through every head's matrix."""
    found = torch.einsum("bpi,hid->bhpd", x, weight)
    return found if bias is None else found + bias[:, None]
