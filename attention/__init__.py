"""Headscope's domain: attention heads, their patterns, and what they cost to compute.

Public names are imported on first use, so that `import attention` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings, Measurement
    from attention.benchmark.sweep import sweep
    from attention.config import AttentionConfig
    from attention.devices import Device, available_devices
    from attention.errors import HeadscopeError
    from attention.formation import Formation, load_formation
    from attention.implementations import IMPLEMENTATIONS, Implementation, build_attention
    from attention.kv_cache import KVCache
    from attention.layouts import LAYOUTS
    from attention.loading import load_model
    from attention.model import LanguageModel
    from attention.model_config import ModelConfig
    from attention.record import RunRecord
    from attention.scores import HEAD_METRICS, head_scores
    from attention.tokens import Tokenizer, Tokens
    from attention.weights import HeadWeights

_HOMES = {
    "AttentionConfig": "config",
    "BenchmarkSettings": "benchmark",
    "Device": "devices",
    "Formation": "formation",
    "HEAD_METRICS": "scores",
    "HeadWeights": "weights",
    "HeadscopeError": "errors",
    "IMPLEMENTATIONS": "implementations",
    "Implementation": "implementations",
    "KVCache": "kv_cache",
    "LAYOUTS": "layouts",
    "LanguageModel": "model",
    "Measurement": "benchmark",
    "ModelConfig": "model_config",
    "RunRecord": "record",
    "Tokenizer": "tokens",
    "Tokens": "tokens",
    "available_devices": "devices",
    "build_attention": "implementations",
    "head_scores": "scores",
    "load_formation": "formation",
    "load_model": "loading",
    "sweep": "benchmark",
}

__all__ = [
    "HEAD_METRICS",
    "IMPLEMENTATIONS",
    "LAYOUTS",
    "AttentionConfig",
    "BenchmarkSettings",
    "Device",
    "Formation",
    "HeadWeights",
    "HeadscopeError",
    "Implementation",
    "KVCache",
    "LanguageModel",
    "Measurement",
    "ModelConfig",
    "RunRecord",
    "Tokenizer",
    "Tokens",
    "available_devices",
    "build_attention",
    "head_scores",
    "load_formation",
    "load_model",
    "sweep",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute can be anything
    """Import the module that holds a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, whether imported yet or not."""
    return sorted(__all__)
