import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from attention import assemble
from attention.errors import ModelError
from attention.loading import load_model
from tests.saved import (
    IDS,
    MIDDLE,
    change_config,
    change_weights,
    nothing_is_built,
    save_small,
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_small(tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the saved model that a test may break."""
    return shutil.copytree(saved, tmp_path / "model")


def test_model_is_its_own_copy_of_the_file(folder):
    # Weights that are a view of the file would change with it, or end the process.
    model = load_model(str(folder))
    before = model.embed.weight.clone()
    path = folder / "model.safetensors"
    path.write_bytes(bytes(path.stat().st_size))
    torch.testing.assert_close(model.embed.weight, before, rtol=0, atol=0)


def test_model_can_be_trained_and_moved(saved):
    model = load_model(str(saved))
    assert all(parameter.requires_grad for parameter in model.parameters())
    model(torch.tensor([IDS])).sum().backward()
    assert model.embed.weight.grad is not None
    assert model.to(torch.float64).run(IDS).logits.isfinite().all()


def test_model_opened_under_inference_mode_can_be_trained_too(saved):
    with torch.inference_mode():
        model = load_model(str(saved))
    model(torch.tensor([IDS])).sum().backward()


def test_progress_is_told_in_bytes(saved):
    told = []
    load_model(str(saved), progress=lambda done, total: told.append((done, total)))
    tensors = load_file(saved / "model.safetensors")
    size = sum(tensor.numel() * 4 for tensor in tensors.values())
    assert [total for _, total in told] == [size] * len(tensors)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (size, size)


def test_loading_can_be_stopped(saved):
    class StoppedError(Exception):
        pass

    def stop(done, total):
        raise StoppedError

    with pytest.raises(StoppedError):
        load_model(str(saved), progress=stop)


def test_only_one_tensor_is_held_beside_the_model(saved, monkeypatch):
    held = []
    original = assemble._kept

    def kept(tensor, device, dtype):
        held.append(tensor)
        return original(tensor, device, dtype)

    monkeypatch.setattr(assemble, "_kept", kept)
    model = load_model(str(saved), dtype=torch.bfloat16)
    # Each parameter is made from its own tensor, and none is made twice.
    assert len(held) == len(list(model.parameters()))


def test_config_of_another_family_is_refused(folder):
    sizes = {"n_layer": 2, "n_head": 3, "n_embd": 15, "n_positions": 61}
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "vocab_size": 300, **sizes})
    )
    with pytest.raises(ModelError, match=r"model\.safetensors must hold transformer\.h\.0"):
        load_model(str(folder))


def test_packed_weights_are_refused(folder):
    change_config(folder, quantization_config={"quant_method": "gptq"})
    with pytest.raises(ModelError, match="quantization_config"):
        load_model(str(folder))


@pytest.mark.parametrize("kept", [0, 4, 8, 100, -1])
def test_truncated_weights_are_refused(folder, kept, monkeypatch):
    nothing_is_built(monkeypatch)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match="must be a whole safetensors file; it cannot be read"):
        load_model(str(folder))


def test_missing_weights_are_named_before_any_is_read(folder, monkeypatch):
    nothing_is_built(monkeypatch)
    change_weights(folder, lambda t: t.pop(MIDDLE))
    with pytest.raises(ModelError, match=rf"must hold {MIDDLE}; missing"):
        load_model(str(folder))
    change_config(folder, num_hidden_layers=3)
    with pytest.raises(ModelError, match=rf"must hold {MIDDLE}, model\.layers\.2.* and 7 more;"):
        load_model(str(folder))


def test_unknown_weight_is_named(folder, monkeypatch):
    nothing_is_built(monkeypatch)
    change_weights(folder, lambda t: t.update({"model.rope.freqs": torch.zeros(3)}))
    with pytest.raises(ModelError, match=r"nothing unknown to its config; got model\.rope\.freqs"):
        load_model(str(folder))


def test_misshapen_weight_is_refused_with_both_shapes(folder, monkeypatch):
    nothing_is_built(monkeypatch)
    change_weights(folder, lambda t: t.update({MIDDLE: t[MIDDLE].T.contiguous()}))
    with pytest.raises(ModelError, match=r"shape \(30, 15\) by its config; it has \(15, 30\)"):
        load_model(str(folder))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weight_that_is_not_finite_is_named(folder, value):
    def spoil(tensors):
        tensors[MIDDLE][3, 2] = value

    change_weights(folder, spoil)
    with pytest.raises(ModelError, match=rf"{MIDDLE} in .* must be finite; it holds NaN"):
        load_model(str(folder))


def test_weight_too_large_for_the_dtype_is_named(folder):
    def enlarge(tensors):
        tensors[MIDDLE][3, 2] = -7e4

    change_weights(folder, enlarge)
    message = rf"{MIDDLE} in .* must be within float16; it holds up to 7e\+04\. Take bfloat16"
    with pytest.raises(ModelError, match=message):
        load_model(str(folder), dtype=torch.float16)
    assert load_model(str(folder), dtype=torch.bfloat16).dtype == torch.bfloat16


def test_quantised_weight_is_refused(folder, monkeypatch):
    # Copied into floats, whole numbers once made a model of nonsense in silence.
    nothing_is_built(monkeypatch)
    change_weights(folder, lambda t: t.update({MIDDLE: (t[MIDDLE] * 100).to(torch.int8)}))
    with pytest.raises(ModelError, match=r"must be in float16, bfloat16, .* got int8"):
        load_model(str(folder))


def test_repeated_tied_embedding_is_let_pass(folder):
    change_weights(
        folder, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"].clone()})
    )
    assert load_model(str(folder)).run(IDS).seq_len == len(IDS)


def test_read_out_that_differs_from_the_tied_embedding_is_refused(folder):
    change_weights(
        folder, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"] + 1})
    )
    with pytest.raises(ModelError, match=r"lm_head\.weight .* must equal model\.embed_tokens"):
        load_model(str(folder))
