import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from attention import assemble, loading, memory, sources
from attention.errors import ConfigError, DeviceError, HeadscopeError, ModelError
from attention.loading import load_model, memory_needed, save_model
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3)
MIDDLE = "model.layers.1.self_attn.k_proj.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    model = small_model(model_config(vocab_size=300), tokenizer=tokenizer)
    save_model(model, folder, dtype=torch.float32)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the saved model that a test may break."""
    return shutil.copytree(saved, tmp_path / "model")


def change_config(folder, **entries):
    path = folder / "config.json"
    config = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def change_weights(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def nothing_is_built(monkeypatch):
    """From here on a tensor that is read, or a model that is built, is a failure."""

    def built(*_, **__):
        raise AssertionError("it must be refused before anything is read")

    monkeypatch.setattr(loading, "fill", built)


# ------------------------------------------------------------------ whole models


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_model_opens_in_the_dtype_asked_for(saved, dtype):
    model = load_model(str(saved), dtype=dtype)
    assert model.dtype == dtype
    assert model.run("the cat").logits.isfinite().all()


def test_tokenizer_comes_with_the_model(saved):
    model = load_model(str(saved))
    assert model.run("the cat").tokens.labels == ("<bos>", "the", "␣cat")


def test_model_without_a_tokenizer_takes_ids(folder):
    (folder / "tokenizer.json").unlink()
    model = load_model(str(folder))
    assert model.tokenizer is None
    assert model.run(IDS).seq_len == len(IDS)


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


# ------------------------------------------------------------------ broken models


@pytest.mark.parametrize("source", ["nowhere", "\x00", "x" * 5000, "no/model/here", "a..b"])
def test_source_that_is_nowhere_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"model must be 'embedded', a folder.* file"):
        load_model(source)


def test_missing_embedded_model_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "EMBEDDED", tmp_path / "none")
    with pytest.raises(ModelError, match="Make it with `python -m attention train --out"):
        load_model()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"must (have a|hold) {name}"):
        load_model(str(folder))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"model_type": nan}']
)
def test_config_that_is_no_json_is_refused(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"config\.json must be JSON; it cannot be read"):
        load_model(str(folder))


def test_config_that_is_no_object_is_refused(folder):
    (folder / "config.json").write_text("[1, 2]")
    with pytest.raises(ModelError, match="must hold a JSON object; it holds list"):
        load_model(str(folder))


@pytest.mark.parametrize("model_type", ["mamba", None, 5, ["llama"]])
def test_other_family_is_refused_by_name(folder, model_type):
    change_config(folder, model_type=model_type)
    with pytest.raises(ModelError, match=r"model_type must be one of llama, .*; got") as error:
        load_model(str(folder))
    assert repr(model_type) in str(error.value)


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


def test_broken_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"must be a tokenizer\.json"):
        load_model(str(folder))


def test_number_of_heads_is_taken_from_the_model_where_it_says_it(folder):
    with pytest.raises(ModelError, match="num_heads must be left out, as the model itself says 3"):
        load_model(str(folder), num_heads=5)
    with pytest.raises(ConfigError, match="num_heads must be a whole number of at least 1"):
        load_model(str(folder), num_heads=0)
    assert load_model(str(folder), num_heads=3).config.num_heads == 3


def test_device_is_checked_before_the_model_is_read(tmp_path):
    with pytest.raises(DeviceError, match="device must be one of"):
        load_model(str(tmp_path / "none"), device="gpu")
    with pytest.raises(ConfigError, match="dtype must be one of"):
        load_model(str(tmp_path / "none"), dtype=torch.int8)


def test_every_error_is_one_of_ours():
    assert issubclass(ModelError, HeadscopeError)
    assert issubclass(HeadscopeError, ValueError)


# ------------------------------------------------------------------ memory


def test_model_of_40_gb_on_a_machine_of_24_is_refused_by_its_config_alone(folder, monkeypatch):
    nothing_is_built(monkeypatch)
    monkeypatch.setattr(memory, "free_memory", lambda device: 24 * 10**9)
    change_config(
        folder,
        hidden_size=5120,
        intermediate_size=13824,
        num_hidden_layers=31,
        num_attention_heads=40,
        num_key_value_heads=40,
        head_dim=128,
        vocab_size=32000,
    )
    with pytest.raises(DeviceError, match=r"at least 40\.\d GB for .* it is 24\.0 GB") as error:
        load_model(str(folder))
    assert "bfloat16" in str(error.value), "which would do"


def test_model_of_any_size_is_refused_at_once(folder):
    change_config(folder, num_hidden_layers=10**12, vocab_size=10**12)
    with pytest.raises(DeviceError, match="free memory of cpu must be at least"):
        load_model(str(folder))


def test_model_opens_where_its_need_is_just_met(saved, monkeypatch):
    config = load_model(str(saved)).config
    needed = memory_needed(config, torch.float32)
    monkeypatch.setattr(memory, "free_memory", lambda device: needed)
    assert load_model(str(saved)).run(IDS).seq_len == len(IDS)
    monkeypatch.setattr(memory, "free_memory", lambda device: needed - 1)
    with pytest.raises(DeviceError, match="free memory of cpu must be at least"):
        load_model(str(saved))
    assert load_model(str(saved), dtype=torch.bfloat16).dtype == torch.bfloat16
