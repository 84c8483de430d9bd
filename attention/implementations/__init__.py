"""Every way to compute the heads, in one table, all on the same `HeadWeights`."""

from dataclasses import dataclass
from typing import Literal

import torch as pytorch  # in this package `torch` is the implementation of that name

from attention.compiling import compile_module
from attention.config import AttentionConfig
from attention.devices import find_device
from attention.errors import ConfigError, require_choice
from attention.implementations import flex, looped_book, sdpa, streams
from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention
from attention.implementations.capture import CaptureAttention
from attention.implementations.einsum import EinsumAttention
from attention.implementations.flex import FlexAttention
from attention.implementations.fused import FusedAttention
from attention.implementations.grouped import GroupedAttention
from attention.implementations.looped import MultiHeadAttentionWrapper
from attention.implementations.looped_book import BookWrapper
from attention.implementations.looped_sdpa import SdpaWrapper
from attention.implementations.reference import ReferenceAttention
from attention.implementations.sdpa import SdpaAttention
from attention.implementations.streams import StreamedWrapper
from attention.implementations.threads import ThreadedWrapper
from attention.implementations.torch import TorchAttention
from attention.implementations.vmap import VmapAttention
from attention.limits import Asked, Limits, no_limits
from attention.masks import CausalMask
from attention.weights import HeadWeights

COMPUTED_IN = (pytorch.float64, pytorch.float32, pytorch.bfloat16, pytorch.float16)
EVERYWHERE = ("cpu", "cuda", "mps")


@dataclass(frozen=True)
class Implementation:
    """One way to compute multi-head attention, and what it can do.

    Attributes:
        name: its key in IMPLEMENTATIONS.
        title: what a person sees.
        summary: how it works, in one sentence.
        module: the class that does it.
        has_pattern: whether it can return the pattern it used.
        projections: what x is multiplied by for q, k and v: one matrix, three, or three for each
            head. With this and `scores` the bench works out FLOPs and bytes.
        scores: "full" computes and keeps every cell of T x T; "triangle" only those on and below
            the diagonal; "kernel" only those too, and keeps none of them.
        has_cache: whether it reads on with a `KVCache`.
        compiles: whether `torch.compile` can make something of it.
        trains_on: kinds of device on which it has a backward pass.
        limits: why a layer that it is asked for cannot be computed in this way, if so.
    """

    name: str
    title: str
    summary: str
    module: type[AttentionModule]
    has_pattern: bool = True
    projections: Literal["one", "three", "per_head"] = "three"
    scores: Literal["full", "triangle", "kernel"] = "full"
    has_cache: bool = True
    compiles: bool = True
    trains_on: tuple[str, ...] = EVERYWHERE
    limits: Limits = no_limits

    def supports(
        self,
        config: AttentionConfig,
        *,
        rotary: bool = False,
        device: str | pytorch.device = "cpu",
    ) -> bool:
        """Whether it can compute such a layer there; see `require`."""
        return self.limits(Asked(config, rotary, pytorch.device(device))) is None

    def require(
        self,
        config: AttentionConfig,
        *,
        rotary: bool = False,
        device: str | pytorch.device = "cpu",
    ) -> None:
        """Refuse a layer that it cannot compute.

        Args:
            config: the layer's sizes.
            rotary: whether q and k get rotary positions.
            device: where it is to run.

        Raises:
            ConfigError: names the rule.
        """
        reason = self.limits(Asked(config, rotary, pytorch.device(device)))
        if reason is not None:
            raise ConfigError(reason)


IMPLEMENTATIONS: dict[str, Implementation] = {
    entry.name: entry
    for entry in (
        Implementation(
            "reference",
            "Reference",
            "A plain loop over heads, queries and keys: the formula as it is written.",
            ReferenceAttention,
            scores="triangle",
            compiles=False,
        ),
        Implementation(
            "looped",
            "Loop",
            "Single heads in a ModuleList, one after the other, then concatenated.",
            MultiHeadAttentionWrapper,
            projections="per_head",
        ),
        Implementation(
            "looped_book",
            "Loop, book's mask",
            "The loop whose heads each convert a float mask in every forward: the mask's cost.",
            BookWrapper,
            projections="per_head",
            limits=looped_book.limits,
        ),
        Implementation(
            "looped_sdpa",
            "Loop of SDPA",
            "The loop with PyTorch's fused kernel in each head; it keeps no pattern.",
            SdpaWrapper,
            has_pattern=False,
            projections="per_head",
            scores="kernel",
            limits=sdpa.limits,
        ),
        Implementation(
            "threads",
            "Loop on threads",
            "The loop's heads on a pool of threads, as many at a time as torch may use.",
            ThreadedWrapper,
            projections="per_head",
            compiles=False,
        ),
        Implementation(
            "streams",
            "Loop on streams",
            "The loop with one CUDA stream a head; only where there is CUDA.",
            StreamedWrapper,
            projections="per_head",
            compiles=False,
            limits=streams.limits,
        ),
        Implementation(
            "batched",
            "Batch",
            "One projection each for q, k and v; the heads are a dimension.",
            BatchedAttention,
        ),
        Implementation(
            "fused",
            "Fused QKV",
            "One projection for q, k and v together; the heads are a dimension.",
            FusedAttention,
            projections="one",
        ),
        Implementation(
            "sdpa",
            "SDPA",
            "PyTorch's fused kernel; it keeps no pattern, so the pattern is recomputed.",
            SdpaAttention,
            has_pattern=False,
            scores="kernel",
            limits=sdpa.limits,
        ),
        Implementation(
            "grouped",
            "Grouped",
            "As Batch, but heads that share a kv head use it without a copy.",
            GroupedAttention,
        ),
        Implementation(
            "einsum",
            "Einsum",
            "3-D weights with a head axis; every product is an einsum, nothing is reshaped.",
            EinsumAttention,
        ),
        Implementation(
            "torch",
            "PyTorch MHA",
            "nn.MultiheadAttention, asked for every head's pattern; no rotary, no shared kv heads.",
            TorchAttention,
            projections="one",
            has_cache=False,
            limits=TorchAttention.limits,
        ),
        Implementation(
            "vmap",
            "vmap",
            "The loop's single head, mapped over all heads at once by torch.vmap.",
            VmapAttention,
        ),
        Implementation(
            "flex",
            "FlexAttention",
            "PyTorch compiles a kernel from the mask's rule; no pattern, trained on CUDA only.",
            FlexAttention,
            has_pattern=False,
            scores="kernel",
            trains_on=flex.TRAINS_ON,
        ),
        Implementation(
            "capture",
            "Capture",
            "Only the triangle of the pattern, in blocks of rows; returns all patterns fastest.",
            CaptureAttention,
            projections="one",
            scores="triangle",
        ),
    )
}


def find_implementation(name: str) -> Implementation:
    """The implementation of that name.

    Raises:
        ConfigError: when there is none; lists the choices.
    """
    require_choice("implementation", name, list(IMPLEMENTATIONS))
    return IMPLEMENTATIONS[name]


def build_attention(
    name: str,
    config: AttentionConfig,
    weights: HeadWeights,
    *,
    device: str | pytorch.device = "cpu",
    dtype: pytorch.dtype = pytorch.float32,
    compiled: bool = False,
) -> AttentionModule:
    """An attention layer that computes `weights` in the chosen way, in eval mode.

    Its weights want no gradients where the implementation has no backward pass.

    Args:
        name: a key of IMPLEMENTATIONS.
        config: the layer's sizes.
        weights: its numbers; shared with the module where the layout is a view of them.
        device: where it runs.
        dtype: what it computes in.
        compiled: whether `torch.compile` makes a kernel of it at the first forward.

    Returns:
        `module(x)` gives the output (batch, pos, d_model); `module(x, need_pattern=True)`
        gives it with the pattern (batch, head, query, key), None where there is none. Where the
        entry `has_cache`, `module(x, cache=cache)` reads on; see `KVCache`.

    Raises:
        ConfigError: when the name or dtype is unknown, the weights do not fit the config, or
            the layer cannot be computed, or compiled, in this way; see `Implementation.require`.
        DeviceError: when the device cannot be used here, or there is no compiler.
    """
    entry = find_implementation(name)
    if dtype not in COMPUTED_IN:
        choices = ", ".join(map(str, COMPUTED_IN))
        raise ConfigError(f"dtype must be one of {choices}; got {dtype!r}.")
    find_device(str(device))
    weights.check(config)
    entry.require(config, device=device)
    if compiled and not entry.compiles:
        choices = ", ".join(name for name, other in IMPLEMENTATIONS.items() if other.compiles)
        raise ConfigError(f"compiled must be off for {name}; choices for it: {choices}.")
    state = weights.to(device, dtype).to_state_dict(entry.module.layout)
    with pytorch.device("meta"):  # no memory and no random numbers for what is replaced at once
        module = entry.module(config)
    module.get_submodule(module.kept_in).load_state_dict(state, assign=True)
    for part in module.modules():
        if isinstance(part, CausalMask):
            part.begin(device)
    if pytorch.device(device).type not in entry.trains_on:
        module.requires_grad_(False)
    if compiled:
        compile_module(module, device)
    return module.eval()
