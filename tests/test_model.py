import threading

import numpy as np
import pytest
import torch

from attention.errors import ConfigError, DeviceError, ModelError, TextError
from attention.implementations import IMPLEMENTATIONS
from attention.tokens import Tokenizer, Tokens
from tests.builders import assert_arrays_close, byte_level_backend, model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
NAMES = list(IMPLEMENTATIONS)
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
    "config", [model_config(qkv_bias=True), model_config(num_heads=9, num_kv_heads=3)]
)
def test_logits_are_the_same_whichever_way_the_heads_are_computed(name, config):
    model = small_model(config).to(torch.float64)
    expected = model.run(IDS, implementation="batched").logits
    record = model.run(IDS, implementation=name)
    torch.testing.assert_close(record.logits, expected)
    assert record.implementation == name


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


# ------------------------------------------------------------------ layers by name


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("num_heads", [1, 4, 9])
def test_first_heads_alone_are_the_layer_without_the_others(name, num_heads):
    model = small_model(model_config(num_heads=9, num_kv_heads=3)).to(torch.float64)
    ids = torch.tensor([IDS])
    narrow = model(ids, attention=model.attention_layers(name, num_heads=num_heads))
    others = [(layer, head) for layer in range(2) for head in range(num_heads, 9)]
    torch.testing.assert_close(
        narrow, model(ids, attention=model.attention_layers(name, ablate=others))
    )


@pytest.mark.parametrize(
    ("num_heads", "message"), [(0, "at least 1; got 0"), (4, "at most 3; got 4")]
)
def test_head_count_that_the_model_does_not_have_is_refused(model, num_heads, message):
    with pytest.raises(ConfigError, match=message):
        model.attention_layers("looped", num_heads=num_heads)


def test_unknown_implementation_is_refused_with_the_choices(model):
    with pytest.raises(ConfigError, match="implementation must be one of reference, looped"):
        model.run(IDS, implementation="flash")


def test_no_layers_are_not_the_models_own(model):
    # An empty list was once read as "the model's own".
    with pytest.raises(ValueError, match="zip"):
        model(torch.tensor([IDS]), attention=[])


@pytest.mark.parametrize("name", FAST)
def test_layers_built_in_a_run_can_be_trained_through(name):
    # Tensors made in inference mode cannot be saved for backward.
    model = small_model()
    model.run(IDS, implementation=name)
    resid = model.embed(torch.tensor([IDS]))
    out = model.attention_layers(name)[0](resid, rotary=model.rotary)
    out.sum().backward()
    assert model.embed.weight.grad is not None


@pytest.mark.parametrize("name", FAST)
def test_layers_follow_new_weights(name):
    # The fused and the looped layers are copies, which once kept the old weights.
    model, other = small_model(), small_model(seed=3)
    model.run(IDS, implementation=name)
    model.load_state_dict(other.state_dict())
    torch.testing.assert_close(model.run(IDS, implementation=name).logits, other.run(IDS).logits)


@pytest.mark.parametrize("name", FAST)
def test_layers_follow_training(name):
    model = small_model()
    model.run(IDS, implementation=name)
    model.train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    model.eval()
    expected = model.run(IDS, implementation="batched").logits
    torch.testing.assert_close(model.run(IDS, implementation=name).logits, expected)


def test_layers_follow_to_another_dtype():
    model = small_model()
    model.run(IDS, implementation="fused")
    model.to(torch.float64)
    assert model.dtype == torch.float64
    assert model.attention_layers("fused")[0].W_qkv.weight.dtype == torch.float64


def test_gradients_reach_every_parameter():
    model = small_model()
    model(torch.tensor([IDS])).logsumexp(dim=-1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# ------------------------------------------------------------------ what the layers show


def test_watching_shows_each_layer_once_with_its_pattern(model):
    seen = []
    with torch.no_grad():
        ids = torch.tensor([IDS])
        model(ids, watch=seen.append, need_pattern=True)
        plain = []
        model(ids, watch=plain.append)
    assert [layer.pattern.shape for layer in seen] == [(1, 3, 11, 11)] * 2
    assert [layer.pattern for layer in plain] == [None, None]
    torch.testing.assert_close(seen[1].qkv.k, plain[1].qkv.k)


# ------------------------------------------------------------------ writing on


def test_greedy_tokens_are_the_likeliest(model):
    written = model.generate(IDS[:3], 5)
    assert len(written) == 8
    for at in range(3, 8):
        assert written.ids[at] == int(model.run(written.ids[:at]).logits[-1].argmax())


def test_sampled_tokens_depend_on_the_seed_alone(model):
    first, again, other = (
        model.generate(IDS[:3], 20, temperature=3.0, seed=seed).ids for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_added_tokens_follow_those_of_the_text(reader):
    # Peers label the rows of the added tokens without the offset of the prompt.
    prompt = reader.tokenizer.encode("the cat")
    written = reader.generate("the cat", 2)
    assert written.ids[:3] == prompt.ids
    assert written.labels[:3] == prompt.labels
    assert written.labels[3] == reader.tokenizer.label(written.ids[3])
    assert reader.run(written).seq_len == 5


def test_writing_past_the_context_is_refused_with_both_numbers(model):
    with pytest.raises(TextError, match="at most 61 together; got 11 and 51"):
        model.generate(IDS, 51)
    assert len(model.generate(IDS[:3], 58)) == 61


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_temperature_that_is_none_is_refused(model, temperature):
    with pytest.raises(ConfigError, match="temperature must be at least 0 and finite"):
        model.generate(IDS, 1, temperature=temperature)


def test_no_tokens_to_add_are_refused(model):
    with pytest.raises(ConfigError, match="num_tokens must be a whole number of at least 1"):
        model.generate(IDS, 0)


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
