import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from attention import loading
from attention.errors import ConfigError, DeviceError, HeadscopeError, ModelError
from attention.loading import known_models, load_model, save_model
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3)
MIDDLE = "model.layers.1.self_attn.k_proj.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    model = small_model(model_config(vocab_size=300, qkv_bias=True), tokenizer=tokenizer)
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


# ------------------------------------------------------------------ whole models


@pytest.mark.parametrize(
    "config", [model_config(qkv_bias=True), model_config(num_heads=9, num_kv_heads=3)]
)
def test_saved_model_opens_as_it_was(tmp_path, config):
    model = small_model(config)
    save_model(model, tmp_path, dtype=torch.float32)
    opened = load_model(str(tmp_path))
    assert opened.config == config
    assert not opened.training
    assert opened.name == str(tmp_path)
    torch.testing.assert_close(opened.state_dict(), model.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(opened.run(IDS).logits, model.run(IDS).logits, rtol=0, atol=0)


def test_model_is_kept_in_float16_unless_said_otherwise(tmp_path):
    model = small_model()
    save_model(model, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert json.loads((tmp_path / "config.json").read_text())["torch_dtype"] == "float16"
    torch.testing.assert_close(
        load_model(str(tmp_path)).state_dict(), model.half().float().state_dict()
    )


def test_dtype_in_the_config_is_that_of_the_weights(saved):
    # It once said float16 whatever the weights were kept in, and others read them so.
    assert json.loads((saved / "config.json").read_text())["torch_dtype"] == "float32"


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


def test_repeated_tied_embedding_is_let_pass(folder):
    change_weights(
        folder, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"].clone()})
    )
    assert load_model(str(folder)).run(IDS).seq_len == len(IDS)


def test_failed_save_leaves_the_old_model(saved, tmp_path, monkeypatch):
    # A reader could once meet half of a file while the training wrote it.
    folder = shutil.copytree(saved, tmp_path / "model")
    before = load_file(folder / "model.safetensors")

    def fail(_, path, **__):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(loading, "save_file", fail)
    with pytest.raises(OSError, match="No space"):
        save_model(small_model(), folder)
    torch.testing.assert_close(load_file(folder / "model.safetensors"), before)
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json", "model.safetensors", "tokenizer.json"
    ]  # fmt: skip


# ------------------------------------------------------------------ broken models


@pytest.mark.parametrize("source", ["nowhere", "\x00", "x" * 5000])
def test_folder_that_does_not_exist_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="model must be 'embedded' or a folder"):
        load_model(source)


def test_file_in_place_of_a_folder_is_refused(folder):
    with pytest.raises(ModelError, match="which is no folder"):
        load_model(str(folder / "config.json"))


def test_missing_embedded_model_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "EMBEDDED", tmp_path / "none")
    with pytest.raises(ModelError, match="Make it with `python -m attention train --out"):
        load_model()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"must hold {name}; it does not"):
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


@pytest.mark.parametrize("model_type", ["gpt2", None, 5, ["llama"]])
def test_other_family_is_refused_by_name(folder, model_type):
    change_config(folder, model_type=model_type)
    with pytest.raises(ModelError, match=r"model_type must be one of llama, .*; got") as error:
        load_model(str(folder))
    assert repr(model_type) in str(error.value)


@pytest.mark.parametrize("kept", [0, 4, 8, 100, -1])
def test_truncated_weights_are_refused(folder, kept):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match="must be a whole safetensors file; it cannot be read"):
        load_model(str(folder))


def test_missing_weight_is_named(folder):
    change_weights(folder, lambda t: t.pop(MIDDLE))
    with pytest.raises(ModelError, match=rf"must hold {MIDDLE} \(1 names are missing\)"):
        load_model(str(folder))


def test_unknown_weight_is_named(folder):
    change_weights(folder, lambda t: t.update({"model.rope.freqs": torch.zeros(3)}))
    with pytest.raises(ModelError, match=r"nothing unknown; got model\.rope\.freqs"):
        load_model(str(folder))


def test_misshapen_weight_is_refused_with_both_shapes(folder):
    change_weights(folder, lambda t: t.update({MIDDLE: t[MIDDLE].T.contiguous()}))
    with pytest.raises(ModelError, match=r"shape \(30, 15\) by config\.json; .* \(15, 30\)"):
        load_model(str(folder))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weight_that_is_not_finite_is_named(folder, value):
    def spoil(tensors):
        tensors[MIDDLE][3, 2] = value

    change_weights(folder, spoil)
    with pytest.raises(ModelError, match=rf"{MIDDLE} in .* must be finite; it holds NaN"):
        load_model(str(folder))


def test_quantised_weight_is_refused(folder):
    # Copied into floats, whole numbers once made a model of nonsense in silence.
    change_weights(folder, lambda t: t.update({MIDDLE: (t[MIDDLE] * 100).to(torch.int8)}))
    with pytest.raises(ModelError, match=r"must be in float16, bfloat16, .* got int8"):
        load_model(str(folder))


def test_untied_embedding_is_refused(folder):
    change_weights(
        folder, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"] + 1})
    )
    with pytest.raises(ModelError, match=r"lm_head\.weight .* must equal the tied embedding"):
        load_model(str(folder))


def test_broken_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"must be a tokenizer\.json"):
        load_model(str(folder))


def test_device_is_checked_before_the_model_is_read(tmp_path):
    with pytest.raises(DeviceError, match="device must be one of"):
        load_model(str(tmp_path / "none"), device="gpu")
    with pytest.raises(ConfigError, match="dtype must be one of"):
        load_model(str(tmp_path / "none"), dtype=torch.int8)


def test_model_too_large_for_the_memory_is_one_sentence(folder):
    change_config(folder, vocab_size=10**12)
    with pytest.raises(DeviceError, match="memory of cpu must be enough"):
        load_model(str(folder))


# ------------------------------------------------------------------ what is found


def test_models_are_listed_with_their_sizes_or_their_problem(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "EMBEDDED", saved)
    root = tmp_path / "models"
    shutil.copytree(saved, root / "good")
    other = shutil.copytree(saved, root / "other")
    change_config(other, model_type="gpt2")
    bare = shutil.copytree(saved, root / "bare")
    (bare / "model.safetensors").unlink()
    (root / "notes").mkdir()
    found = {model.source: model for model in known_models(root)}
    assert list(found) == ["embedded", *(str(root / name) for name in ("bare", "good", "other"))]
    good = found[str(root / "good")]
    assert good.config is not None
    assert (good.config.num_heads, good.problem) == (3, None)
    problem = found[str(other)].problem
    assert "model_type must be one of llama, headscope-attention-only; got 'gpt2'" in problem
    assert "must hold model.safetensors" in found[str(bare)].problem


def test_without_any_model_only_the_embedded_one_is_listed(monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "EMBEDDED", tmp_path / "none")
    [embedded] = known_models(tmp_path / "models")
    assert (embedded.source, embedded.config) == ("embedded", None)
    assert embedded.problem


@pytest.mark.parametrize("config", ["{", '{"model_type": "llama"}', "[]"])
def test_broken_folder_does_not_end_the_list(tmp_path, config):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text(config)
    assert known_models(tmp_path)[1].problem


def test_every_error_is_one_of_ours():
    assert issubclass(ModelError, HeadscopeError)
    assert issubclass(HeadscopeError, ValueError)
