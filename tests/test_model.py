import threading

import numpy as np
import pytest
import torch

from attention.errors import ConfigError, DeviceError, ModelError, TextError
from attention.implementations import IMPLEMENTATIONS
from attention.tokens import Tokenizer, Tokens
from tests.builders import (
    assert_arrays_close,
    byte_level_backend,
    model_config,
    small_model,
    ways,
)

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
NAMES = ways()
FAST = [name for name in NAMES if name != "reference"]


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def reader():
    return small_model(
        model_config(vocab_size=300), tokenizer=Tokenizer(byte_level_backend(vocab_size=300))
    )


# ------------------------------------------------------------------ a run


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "config",
    [
        model_config(qkv_bias=True),
        model_config(num_heads=9, num_kv_heads=3),
        model_config(d_mlp=None, qkv_bias=True),
    ],
)
def test_logits_are_the_same_whichever_way_the_heads_are_computed(name, config):
    model = small_model(config).to(torch.float64)
    expected = model.run(IDS, implementation="batched").logits
    record = model.run(IDS, implementation=name)
    torch.testing.assert_close(record.logits, expected)
    assert record.implementation == name


def test_model_of_attention_alone_is_what_is_left_of_one_whose_mlps_write_nothing():
    whole = small_model()
    alone = small_model(model_config(d_mlp=None))
    with torch.no_grad():
        for block in whole.blocks:
            block.mlp.down.weight.zero_()
    state = whole.state_dict()
    alone.load_state_dict({name: state[name] for name in alone.state_dict()})
    torch.testing.assert_close(alone.run(IDS).logits, whole.run(IDS).logits, rtol=0, atol=0)
    assert not any("mlp" in name for name in alone.state_dict())


def test_record_holds_what_was_run(model):
    record = model.run(IDS)
    assert record.tokens.ids == IDS
    assert (record.num_layers, record.num_heads, record.seq_len) == (2, 3, 11)
    assert record.logits.shape == (11, 101)
    assert record.logits.dtype == torch.float32
    assert not record.logits.requires_grad


def test_changing_a_later_token_moves_no_logits_before_it(model):
    changed = (*IDS[:7], 13, *IDS[8:])
    before, after = model.run(IDS).logits, model.run(changed).logits
    # Float32 sums in another order.
    torch.testing.assert_close(after[:7], before[:7], rtol=1e-4, atol=1e-4)
    assert (after[7] - before[7]).abs().max() > 0.1


def test_run_is_the_forward_pass_that_is_trained(model):
    with torch.no_grad():
        logits = model(torch.tensor([IDS]))[0]
    torch.testing.assert_close(model.run(IDS, implementation="batched").logits, logits)


def test_run_of_a_single_token(model):
    record = model.run([5])
    assert_arrays_close(record.pattern(1, 2), [[1.0]], rtol=0, atol=0)


def test_run_keeps_no_pattern(model, monkeypatch):
    # A run once asked every implementation for its patterns, only to drop them: the loop then
    # stacks the patterns of all heads.
    asked = []
    layer_type = IMPLEMENTATIONS["looped"].module
    forward = layer_type.forward
    monkeypatch.setattr(
        layer_type,
        "forward",
        lambda self, x, need_pattern=False, **rest: (
            asked.append(need_pattern) or forward(self, x, need_pattern, **rest)
        ),
    )
    model.run(IDS, implementation="looped")
    assert asked == [False, False]


def test_patterns_that_are_asked_for_come_from_capture(model, monkeypatch):
    asked, seen = [], []
    layers = type(model).attention_layers
    monkeypatch.setattr(
        type(model),
        "attention_layers",
        lambda self, name, **rest: asked.append(name) or layers(self, name, **rest),
    )
    ids = torch.tensor([IDS])
    with torch.no_grad():
        logits = model(ids, watch=seen.append, need_pattern=True)
        torch.testing.assert_close(logits, model(ids), rtol=1e-4, atol=1e-4)
    assert asked == ["capture"]
    record = model.run(IDS, implementation="batched")
    for layer, observation in enumerate(seen):
        assert_arrays_close(observation.pattern[0], record.layer_pattern(layer), atol=1e-6)
    # With gradients the model's own layers are the ones that learn.
    model(ids, watch=seen.append, need_pattern=True)
    assert asked == ["capture", "batched"]


def test_text_and_its_tokens_and_its_ids_give_the_same_run(reader):
    text = "the cat sat"
    tokens = reader.tokenizer.encode(text)
    for source in (text, tokens, tokens.ids, list(tokens.ids), np.array(tokens.ids)):
        torch.testing.assert_close(reader.run(source).logits, reader.run(text).logits)
    assert reader.run(text).tokens == tokens


def test_threads_may_share_a_model(model):
    expected = {name: model.run(IDS, implementation=name).logits for name in FAST}
    fresh, found, start = small_model(), [], threading.Barrier(8)

    def work(i):
        start.wait()
        name = FAST[i % len(FAST)]
        found.append((name, fresh.run(IDS, implementation=name).logits))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for name, logits in found:
        torch.testing.assert_close(logits, expected[name])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_model_runs_every_way(dtype):
    narrow, wide = small_model().to(dtype), small_model().run(IDS).layer_pattern(0)
    for name in FAST:
        record = narrow.run(IDS, implementation=name)
        assert record.logits.dtype == torch.float32
        # q and k keep 8 bits; scores of up to 10 are then off by some hundredths.
        torch.testing.assert_close(record.layer_pattern(0), wide, rtol=0.1, atol=0.06)


# ------------------------------------------------------------------ knock-outs


@pytest.mark.parametrize("name", FAST)
def test_knocked_out_heads_add_nothing(name):
    model = small_model().to(torch.float64)
    expected = small_model().to(torch.float64)
    with torch.no_grad():
        weight = expected.blocks[1].attn.out_proj.weight
        weight[:, 10:20] = 0  # head 1's columns
    found = model.run(IDS, implementation=name, ablate={(1, 1)})
    torch.testing.assert_close(found.logits, expected.run(IDS).logits)
    # The model itself stays whole.
    torch.testing.assert_close(
        model.run(IDS, implementation=name).logits, small_model().to(torch.float64).run(IDS).logits
    )


def test_knocking_nothing_out_changes_nothing(model):
    torch.testing.assert_close(model.run(IDS, ablate=()).logits, model.run(IDS).logits)


def test_knocked_out_head_still_has_a_pattern(model):
    off = model.run(IDS, ablate=frozenset({(0, 2)}))
    assert_arrays_close(off.pattern(0, 2), model.run(IDS).pattern(0, 2), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("head", "message"),
    [((2, 0), "layer must be 0 to 1; got 2"), ((0, 3), "head must be 0 to 2; got 3"),
     ((-1, 0), "layer must be 0 to 1; got -1"), ((0, -1), "head must be 0 to 2; got -1")],
)  # fmt: skip
def test_head_that_does_not_exist_is_refused(model, head, message):
    with pytest.raises(ConfigError, match=message):
        model.run(IDS, ablate=[head])


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("nothing", ["", [], Tokens.from_ids([])])
def test_empty_text_is_refused_in_one_sentence(reader, nothing):
    with pytest.raises(TextError, match="text must hold at least one"):
        reader.run(nothing)


@pytest.mark.parametrize("text", [" ", "\n\n", "\t", "\x00", "</script><img onerror>"])
def test_odd_texts_are_run(reader, text):
    record = reader.run(text)
    assert record.seq_len == len(record.tokens.labels)


def test_text_longer_than_the_context_is_refused_with_both_numbers(reader):
    with pytest.raises(TextError, match=r"at most 61 tokens long .* got 100001"):
        reader.run("é" * 50_000)


@pytest.mark.parametrize("wrong", [-1, 101, 10**12, 10**30])
def test_id_outside_the_vocabulary_is_refused_with_the_range(model, wrong):
    with pytest.raises(TextError, match=f"token ids must be 0 to 100; got {wrong}"):
        model.run([1, wrong])


def test_text_for_a_model_without_a_tokenizer_is_refused(model):
    with pytest.raises(TextError, match="small has no tokenizer; give token ids"):
        model.run("the cat")


def test_nan_weights_are_told_not_drawn():
    model = small_model()
    with torch.no_grad():
        model.norm.weight[0] = torch.nan
    with pytest.raises(ModelError, match=r"logits of small must be finite; .* dtype float32\."):
        model.run(IDS)
    with pytest.raises(ModelError, match="must be finite"):
        model.generate(IDS, 1)


def test_running_out_of_memory_is_one_sentence(monkeypatch):
    model = small_model()

    def full(*_):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(model.embed, "forward", full)
    with pytest.raises(DeviceError, match="memory of cpu must be enough"):
        model.run(IDS)
