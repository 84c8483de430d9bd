"""The check of an implementation against the exact result, before anything is timed."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention.benchmark.layer import Layer
from attention.benchmark.passes import Ready
from attention.difference import largest_difference

# Of the largest number: a few roundings of the dtype in sums of some thousand terms.
TOLERANCES = {"float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}
# Gradients of x are summed over heads, three terms each, and the loop rounds after every one.
GRADIENTS = 2.0
# A gradient that is 0 but for rounding, as that of q with one token, is held against the others.
LEAST_SCALE = 1e-3


@dataclass(frozen=True)
class Check:
    """How far an implementation is from the exact result; see Measurement."""

    output_difference: float
    pattern_difference: float | None
    gradient_difference: float | None
    gradient_of: str | None
    tolerance: float
    equal: bool


@torch.inference_mode()
def check(layer: Layer, ready: Ready, beginning: Ready | None = None) -> Check:
    """Compare what a pass gives with what is exact: outputs, pattern and gradients.

    The pass runs twice: as it is timed, and asked for its pattern, which some compute otherwise.
    The tolerance is relative to the largest number of the output, or of the gradient: a decode
    step mixes so many values that its output is small, and would pass for equal whatever it is.

    Args:
        layer: with what is exact.
        ready: the pass that is timed.
        beginning: the same over the beginning of a text that is too long to check whole; see
            `Layer.ready_to_check`. Pattern and gradients are those of the beginning then, the
            output those of the beginning and of a few rows of the rest.
    """
    exact, timed = layer.exact, ready.read(ready.run())
    alone = timed if beginning is None else beginning.read(beginning.run())
    out, pattern = (beginning or ready).with_pattern()
    base = TOLERANCES[layer.settings.dtype]
    tolerance = base * float(exact.out.abs().max())
    read = exact.out.shape[1]  # of a causal layer, later tokens move nothing before them
    differences = [_difference(found, exact.out) for found in (timed.out[:, :read], alone.out, out)]
    if layer.distant is not None:
        differences.append(_difference(timed.out[:, layer.distant.rows], layer.distant.out))
    equal = all(difference <= tolerance for difference in differences)  # False for NaN
    pattern_difference = None
    if pattern is not None and exact.pattern is not None:
        pattern_difference = _difference(pattern, exact.pattern)
        equal = equal and pattern_difference <= base
    of, gradient_difference = _of_gradients(alone.gradients, exact.gradients)
    if gradient_difference is not None:
        equal = equal and gradient_difference <= GRADIENTS * base
    return Check(
        output_difference=_largest(differences),
        pattern_difference=pattern_difference,
        gradient_difference=gradient_difference,
        gradient_of=of,
        tolerance=tolerance,
        equal=equal,
    )


def _difference(found: Tensor, exact: Tensor) -> float:
    return largest_difference(found.to(exact.device), exact)


def _largest(differences: list[float]) -> float:
    """The largest; NaN where one is."""
    return max(differences, key=lambda d: (d != d, d))


def _of_gradients(
    found: dict[str, Tensor], exact: dict[str, Tensor]
) -> tuple[str | None, float | None]:
    """Which gradient is furthest off, and by which share of its largest number."""
    if not exact:
        return None, None
    sizes = {of: float(gradient.abs().max()) for of, gradient in exact.items()}
    least = LEAST_SCALE * max(sizes.values())
    shares = {of: _difference(found[of], exact[of]) / max(sizes[of], least) for of in exact}
    worst = _largest(list(shares.values()))
    return next(of for of, share in shares.items() if share is worst), worst
