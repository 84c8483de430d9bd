import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from attention import compiling
from attention.compiling import CompileTime, compile_module, time_compiling, why_not_compiled
from attention.config import AttentionConfig
from attention.errors import ConfigError, DeviceError
from attention.implementations import build_attention
from attention.weights import HeadWeights
from tests.implementations.contract import COMPILED, NAMES

ROOT = Path(__file__).parents[1]
CONFIG = AttentionConfig.total(7, 15, 3, 13)


@pytest.fixture
def switched_on(monkeypatch):
    monkeypatch.delenv(compiling.SWITCH)
    compiling._why_not.cache_clear()
    yield
    compiling._why_not.cache_clear()


@pytest.fixture
def weights():
    return HeadWeights.init(CONFIG, generator=torch.Generator().manual_seed(3))


# ------------------------------------------------------------------ the same numbers


@pytest.fixture(scope="module")
def layers():
    """What tests/compiled_layers.py found; see there why it is a process of its own."""
    command = [sys.executable, "-m", "tests.compiled_layers"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(600)
def test_compiled_layer_is_the_layer_forward_and_backward(layers):
    if layers["machine code"] is None:
        pytest.skip("PyTorch cannot compile here")
    assert layers["machine code"] < 1e-5  # float32 sums in another order, of gradients up to 10


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", COMPILED)
def test_every_layer_can_be_traced_and_gives_the_same(layers, name):
    assert layers["traced"][name] < 1e-12


@pytest.mark.timeout(600)
def test_traced_layer_is_one_graph_and_is_traced_once(layers):
    # What is checked once was remembered, and that change had each layer compiled twice.
    assert layers["graphs"] == [1] * 10  # of 8 layers that share code the rest ran uncompiled


@pytest.mark.timeout(600)
def test_traced_layer_reads_on_with_a_cache(layers):
    assert layers["with cache"] < 1e-12


def test_weights_keep_their_names(weights):
    # Checkpoints of compiled models are known for names that begin with _orig_mod.
    module = build_attention("looped", CONFIG, weights)
    names = list(module.state_dict())
    compile_module(module, "cpu", backend="eager")
    assert list(module.state_dict()) == names
    torch.testing.assert_close(module.head_weights().W_Q, weights.W_Q)


# ------------------------------------------------------------------ where it cannot be


@pytest.mark.parametrize("name", [name for name in NAMES if name not in COMPILED])
def test_layer_that_cannot_be_compiled_is_refused_with_the_choices(name, weights):
    with pytest.raises(ConfigError, match=f"compiled must be off for {name}; choices .* batched"):
        build_attention(name, CONFIG, weights, compiled=True)


def test_compiling_that_is_switched_off_is_refused_in_one_sentence(weights):
    with pytest.raises(
        DeviceError, match=f"compiled must be off .* switched off .{compiling.SWITCH}"
    ):
        build_attention("batched", CONFIG, weights, compiled=True)


@pytest.mark.usefixtures("switched_on")
def test_missing_compiler_is_named(monkeypatch, weights):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(DeviceError, match=r"no C\+\+ compiler is found \(no-such-compiler; CXX"):
        build_attention("batched", CONFIG, weights, compiled=True)


@pytest.mark.usefixtures("switched_on")
def test_missing_header_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling.shutil, "which", lambda _name: "/usr/bin/g++")
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    assert "Python.h is not installed" in why_not_compiled("cpu")
    (tmp_path / "Python.h").touch()
    compiling._why_not.cache_clear()
    assert why_not_compiled("cpu") is None


@pytest.mark.usefixtures("switched_on")
def test_missing_triton_is_named(monkeypatch):
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda _name: None)
    assert why_not_compiled("cuda:0") == "the package triton is not installed"


# ------------------------------------------------------------------ the time it takes


def test_compile_time_is_the_first_call_less_a_steady_one():
    ticks = iter([0.0, 7.0, 10.0, 10.5, 20.0, 20.25, 30.0, 31.0, 40.0, 41.0, 50.0, 51.0])
    calls = []
    found = time_compiling(lambda: calls.append(1), clock=lambda: next(ticks))
    assert found == CompileTime(first_s=7.0, steady_s=0.25)
    assert found.seconds == 6.75
    assert len(calls) == 6


def test_compile_time_is_never_below_0():
    assert CompileTime(first_s=0.5, steady_s=0.75).seconds == 0.0
