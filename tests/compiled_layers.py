"""Runs layers compiled and not, and prints as JSON how far they are apart.

A process of its own, without the shape checker: torch would trace that too, for minutes.
"""

import json
import os
import sys

import torch

from attention.compiling import SWITCH, compile_module, why_not_compiled
from attention.difference import largest_difference
from attention.implementations import build_attention
from attention.kv_cache import KVCache
from attention.weights import HeadWeights
from tests.implementations.contract import COMPILED, PLAIN, build, sequence, with_pattern

X = sequence(d_in=30)


def traced(name):
    """Outputs and patterns of a layer that is traced as for a compiler, against the layer's own."""
    module = build(name, PLAIN)
    with torch.no_grad():
        out, pattern = with_pattern(module, X)
        compile_module(module, "cpu", backend="eager")
        found, found_pattern = with_pattern(module, X)
        far = [largest_difference(found, out), largest_difference(module(X), out)]
        if pattern is not None:
            far.append(largest_difference(found_pattern, pattern))
    return max(far)


@torch.inference_mode()
def traced_with_cache():
    """A traced layer that reads on, against the whole at once."""
    module, cache = build("batched", PLAIN), KVCache(PLAIN, dtype=torch.float64)
    expected = module(X)
    compile_module(module, "cpu", backend="eager")
    found = [module(part, cache=cache) for part in X.split([5, 1, 1, 4], dim=1)]
    return largest_difference(torch.cat(found, dim=1), expected)


@torch.no_grad()
def graphs_of_many():
    """How many graphs each of ten layers that share their code is compiled to in two calls."""
    counts = []
    for _ in range(10):
        graphs = []
        module = build("sdpa", PLAIN)
        compile_module(
            module, "cpu", backend=lambda graph, _, graphs=graphs: graphs.append(1) or graph.forward
        )
        module(X)
        module(X)
        counts.append(len(graphs))
    return counts


def machine_code():
    """A layer in machine code against the layer's own, forward and backward; None without one."""
    os.environ.pop(SWITCH, None)
    if why_not_compiled("cpu") is not None:
        return None
    weights = HeadWeights.init(PLAIN, generator=torch.Generator().manual_seed(3))
    results = []
    for compiled in (False, True):
        module = build_attention("batched", PLAIN, weights, compiled=compiled)
        out = module(X.float())
        out.square().sum().backward()
        results.append([out.detach(), *(p.grad for p in module.parameters())])
    return max(largest_difference(a, b) for a, b in zip(*results, strict=True))


if __name__ == "__main__":
    found = {
        "traced": {name: traced(name) for name in COMPILED},
        "with cache": traced_with_cache(),
        "graphs": graphs_of_many(),
        "machine code": machine_code(),
    }
    sys.stdout.write(json.dumps(found))
