"""The loop's single head, mapped over all heads' parameters at once by `torch.vmap`."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from attention.config import AttentionConfig
from attention.implementations.base import (
    AttentionModule,
    Observation,
    Observe,
    Output,
    merge_heads,
)
from attention.implementations.looped import CausalSelfAttention
from attention.kv_cache import HeadCache, KVCache
from attention.rotary import Positions

Parameters = dict[str, Tensor]
Results = tuple[Tensor, ...]  # z, pattern, q, k, v

# `functional_call` puts the parameters into the module and takes them out again.
_ONE_AT_A_TIME = threading.Lock()


class VmapAttention(AttentionModule):
    """The loop made batched without rewriting it: `CausalSelfAttention` runs as it stands.

    `stack_module_state` stacks the parameters of so many heads; `functional_call` runs one head
    with parameters from outside; `vmap` turns each of its operators into one for all heads.
    Heads that share a kv head are a second, inner `vmap`, in which k and v have no axis to map:
    they are computed once.

    Source: PyTorch's tutorial on model ensembling with torch.func.
    """

    layout = "stacked"

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        heads = [CausalSelfAttention(config) for _ in range(config.num_heads)]
        stacked, _ = stack_module_state(heads)
        self.heads = CausalSelfAttention(config)  # never called: it keeps the stacked parameters
        for name, tensor in stacked.items():
            linear, _, kind = name.rpartition(".")
            own = tensor if linear == "W_query" else tensor[:: config.heads_per_kv]
            setattr(self.heads.get_submodule(linear), kind, nn.Parameter(own.detach()))
        self._head = (heads[0].to("meta"),)  # in a tuple: its parameters are not this layer's
        self.out_proj = self._out_projection()

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
        self.mask(x.shape[1] + (0 if cache is None else cache.read), x.device)  # grown outside
        with _swapping_parameters():
            z, pattern, q, k, v = self._all_heads(self._one_head(x, rotary, cache), cache)
        if cache is not None:
            cache.advance(x.shape[1])
        if observe is not None:
            observe(Observation(q, k, v))
        out: Tensor = self.out_proj(merge_heads(z))
        return (out, pattern) if need_pattern else out

    def _one_head(
        self, x: Tensor, rotary: Positions | None, cache: KVCache | None
    ) -> Callable[[Parameters, Parameters, Tensor | None], Results]:
        """The single head as a function of its parameters and what its kv head has kept."""

        def one_head(own: Parameters, shared: Parameters, kept: Tensor | None) -> Results:
            read = (
                None if cache is None or kept is None else HeadCache(kept[0], kept[1], cache.read)
            )
            found = functional_call(self._head[0], {**own, **shared}, (x, self, rotary, read))
            return found.z, found.pattern, found.q, found.k, found.v

        return one_head

    def _all_heads(
        self,
        one_head: Callable[[Parameters, Parameters, Tensor | None], Results],
        cache: KVCache | None,
    ) -> Results:
        """What every head computes: the head is axis 1 of each result."""
        config = self.config
        parameters = dict(self.heads.named_parameters())
        own = {n: p for n, p in parameters.items() if n.startswith("W_query")}
        shared = {n: p for n, p in parameters.items() if n not in own}
        kept = None if cache is None else cache.kept  # 2 batch kv_head room head_dim
        axes = (0, 0, None if kept is None else 2)
        if config.heads_per_kv == 1:
            return mapped(one_head, axes, (1, 1, 1, 1, 1))(own, shared, kept)
        groups = (config.num_kv_heads, config.heads_per_kv)
        own = {name: p.unflatten(0, groups) for name, p in own.items()}
        group = mapped(one_head, (0, None, None), (1, 1, 1, 0, 0))
        # z, pattern, q: batch kv_head sharing …; k, v: sharing batch kv_head …, all the same
        z, pattern, q, k, v = mapped(group, axes, (1, 1, 1, 2, 2))(own, shared, kept)
        z, pattern, q = (t.flatten(1, 2) for t in (z, pattern, q))
        return z, pattern, q, k[0], v[0]


def mapped(
    function: Callable[..., Results], axes: tuple[int | None, ...], to: tuple[int, ...]
) -> Callable[..., Results]:
    """`vmap` from these axes of the arguments to those of the results; each draws its dropout."""
    found: Callable[..., Results] = torch.vmap(function, axes, to, randomness="different")
    return found


def _swapping_parameters() -> AbstractContextManager[object]:
    return nullcontext() if torch.compiler.is_compiling() else _ONE_AT_A_TIME
