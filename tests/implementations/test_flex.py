import pytest
import torch

from attention import compiling
from attention.config import AttentionConfig
from attention.implementations import build_attention, flex
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 45, 9, 13, num_kv_heads=3)


def build(name="flex", dtype=torch.float32):
    weights = HeadWeights.init(CONFIG, generator=torch.Generator().manual_seed(3))
    return build_attention(name, CONFIG, weights, dtype=dtype)


def x_of(seq_len=11):
    return torch.randn(2, seq_len, 7, generator=torch.Generator().manual_seed(4))


@pytest.fixture
def compiling_on(monkeypatch):
    monkeypatch.delenv(compiling.SWITCH)
    reason = compiling.why_not_compiled("cpu")
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.usefixtures("compiling_on")
def test_compiled_kernel_is_the_batched_layer():
    # Heads 5 wide and 11 tokens: neither fits the kernel's blocks.
    kernel = flex.kernel_for("cpu", torch.float32, (9, 3, 5))
    assert kernel is flex.compiled_for("cpu", torch.float32, (9, 3, 5))
    with torch.no_grad():
        torch.testing.assert_close(build()(x_of()), build("batched")(x_of()))


def test_float64_and_a_machine_without_a_compiler_take_the_plain_operators(monkeypatch):
    assert flex.kernel_for("cpu", torch.float32, (9, 3, 5)) is flex.flex_attention
    monkeypatch.setattr(flex, "why_not_compiled", lambda _kind: None)
    assert flex.kernel_for("cpu", torch.float64, (9, 3, 5)) is flex.flex_attention
    assert flex.kernel_for("cpu", torch.float32, (9, 3, 5)) is not flex.flex_attention


def test_kernels_are_shared_by_layers_of_the_same_sizes_and_dtype():
    kernel = flex.compiled_for("cpu", torch.float32, (9, 3, 5))
    assert flex.compiled_for("cpu", torch.float32, (9, 3, 5)) is kernel
    assert flex.compiled_for("cpu", torch.float32, (3, 3, 5)) is not kernel
    assert flex.compiled_for("cpu", torch.bfloat16, (9, 3, 5)) is not kernel


def test_blocks_of_a_square_and_after_a_cache():
    device = torch.device("cpu")
    for queries, keys in ((11, 11), (3, 11), (130, 200)):
        mask = flex.causal_blocks(queries, keys, device).to_dense()
        assert mask.shape[-2:] == (-(-queries // 128), -(-keys // 128))
    rule = flex.causal_blocks(3, 11, device).mask_mod
    zero = torch.tensor(0)
    allowed = [int(rule(zero, zero, torch.tensor(0), torch.tensor(key))) for key in range(11)]
    assert allowed == [1] * 9 + [0] * 2


def test_blocks_made_in_inference_mode_serve_outside_of_it():
    flex._causal_blocks.cache_clear()
    with torch.inference_mode():
        build()(x_of(7))
    assert not flex.causal_blocks(7, 7, torch.device("cpu")).kv_indices.is_inference()
