"""A forward pass with the gradients of its input and of all weights, as in training."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attention.benchmark.passes.base import Given, Pass, Ready, Result
from attention.implementations.base import AttentionModule
from attention.implementations.batched import BatchedAttention
from attention.weights import HeadWeights

if TYPE_CHECKING:
    from attention.implementations import Implementation


class Backward(Pass):
    """The gradients of a weighted sum of the output; the weights are drawn from the seed."""

    name = "backward"
    title = "Forward and backward"
    summary = "A forward pass with the gradients of the input and all weights."
    unit = "forward and backward pass"
    products = 3  # a product, and its gradients by both factors, of the same size each
    gradients = True
    squares = 4  # the pattern, and on the way back three as large

    def why_not(self, entry: "Implementation", kind: str) -> str | None:
        """Refuse what cannot be trained there."""
        if kind in entry.trains_on:
            return None
        on = f"; it has one on {', '.join(entry.trains_on)}" if entry.trains_on else ""
        return (
            f"passes must be forward for {entry.title} on {kind}: "
            f"it has no backward pass there{on}."
        )

    def exact(self, module: BatchedAttention, given: Given) -> Result:
        """See `Pass`."""
        x, parameters = _wanted(module, given)
        with torch.inference_mode(mode=False), torch.enable_grad():
            out, pattern = module(x, need_pattern=True)
            found = torch.autograd.grad(out, [x, *parameters], given.pull)
        return Result(out.detach(), pattern.detach(), _by_part(module, parameters, found))

    def ready(self, module: AttentionModule, given: Given) -> Ready:
        """See `Pass`."""
        x, parameters = _wanted(module, given)
        inputs = [x, *parameters]

        def run() -> tuple[Tensor, tuple[Tensor, ...]]:
            with torch.inference_mode(mode=False):
                out = module(x)
                return out, torch.autograd.grad(out, inputs, given.pull)

        def read(value: Any) -> Result:  # noqa: ANN401 - what `run` returns
            out, found = value
            return Result(out.detach(), gradients=_by_part(module, parameters, found))

        return Ready(run, read, lambda: module(given.x, need_pattern=True))


def _wanted(module: AttentionModule, given: Given) -> tuple[Tensor, list[nn.Parameter]]:
    """What gradients are computed of: x and each parameter once."""
    with torch.inference_mode(mode=False):
        return given.x.clone().requires_grad_(), list(module.parameters())


def _by_part(
    module: AttentionModule, parameters: list[nn.Parameter], found: tuple[Tensor, ...]
) -> dict[str, Tensor]:
    """The gradients of x and of the head-explicit weights, whatever the module's layout is."""
    of_x, *others = found
    by_id = {id(p): gradient for p, gradient in zip(parameters, others, strict=True)}
    kept = module.get_submodule(module.kept_in)
    named = kept.named_parameters(remove_duplicate=False)  # heads may share a projection
    state = {name: by_id[id(parameter)] for name, parameter in named}
    parts = HeadWeights.from_state_dict(state, module.layout, module.config).parts()
    return {"x": of_x, **{name: part for name, part in parts.items() if part is not None}}
