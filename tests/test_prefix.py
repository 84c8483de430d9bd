import dataclasses
import random

import pytest
import torch

from attention import prefix, read_out
from attention.implementations import IMPLEMENTATIONS
from attention.model_config import LayerRule
from attention.prefix import shared
from attention.rope_scaling import Linear, Yarn
from attention.rotary import PLAIN_ROPE, Rope
from attention.tokens import Tokens
from tests.builders import model_config, ways
from tests.reused import IDS, PLAIN, T, assert_same_run, edited, made, read_by

GROUPED = model_config(num_heads=9, num_kv_heads=3, num_layers=3)
CAPPED = dataclasses.replace(
    GROUPED,
    attention=dataclasses.replace(GROUPED.attention, soft_cap=2.0),
    layers=tuple(LayerRule(rope=PLAIN_ROPE, window=size) for size in (5, None, 3)),
    qk_norm=True,
    logit_cap=9.0,
)
CONFIGS = {
    "as the embedded one": PLAIN,
    "attention alone, biases": model_config(d_mlp=None, qkv_bias=True),
    "shared kv heads": GROUPED,
    "windows, soft caps, norms of q and k": CAPPED,
    "a window": dataclasses.replace(
        PLAIN, attention=dataclasses.replace(PLAIN.attention, window=4)
    ),
    "learned positions": dataclasses.replace(
        PLAIN, rope=None, positions=63, position_offset=2, norm="layer", tied=False
    ),
    "no positions in a layer": dataclasses.replace(
        PLAIN, layers=(LayerRule(rope=None), LayerRule(rope=Rope(scaling=Linear(factor=3.0))))
    ),
    "parallel, half turned": dataclasses.replace(
        PLAIN, residual="parallel", rope=Rope(rotary_dim=4), norm="layer"
    ),
    "stretched": dataclasses.replace(
        PLAIN,
        rope=Rope(scaling=Yarn(factor=2.0, original_length=8, attention_factor=1.1)),
        residual="post",
    ),
    "of another width": dataclasses.replace(PLAIN, embed_dim=19, embed_scale=2.0, post_norms=True),
}


@pytest.fixture(scope="module")
def model():
    return made()


@pytest.fixture(params=["logits held", "logits read late"])
def held(request, monkeypatch):
    if request.param != "logits held":
        monkeypatch.setattr(read_out, "AT_ONCE", 0)
        monkeypatch.setattr(prefix, "AT_ONCE", 0)


# ------------------------------------------------------------------ equal to a whole run


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("config", CONFIGS)
def test_reading_on_is_the_whole_run_wherever_the_edit_is(config):
    model = made(CONFIGS[config])
    before, rng = model.run(IDS), random.Random(config)
    for _ in range(6):
        at, length = rng.randint(10, T), rng.randint(T, 2 * T)
        text = edited(at, length + 1)
        found = model.run(text, reuse=[before])
        assert found.reused == at
        assert_same_run(found, model.run(text))


@pytest.mark.parametrize("name", [name for name in ways() if IMPLEMENTATIONS[name].has_cache])
@pytest.mark.parametrize("at", [T // 2, T - 1])
def test_every_implementation_with_a_cache_reads_on(name, at):
    for config in (PLAIN, CONFIGS["shared kv heads"]):
        model = made(config)
        before = model.run(IDS, implementation=name)
        found = model.run(edited(at), implementation=name, reuse=[before])
        assert found.reused == at
        assert_same_run(found, model.run(edited(at), implementation=name))


@pytest.mark.usefixtures("held")
def test_edit_after_an_edit_after_an_edit(model):
    record = model.run(IDS[:9])
    for text in (IDS[:10], IDS[:11], edited(8), edited(8, 24), edited(8, 12), edited(5, 14)):
        record = model.run(text, reuse=[record])
        assert record.reused >= 5
        assert_same_run(record, model.run(text))


def test_knocked_out_heads_stay_so(model):
    off = [(0, 1), (1, 2)]
    before = model.run(IDS, ablate=off)
    found = model.run(edited(9), ablate=(head for head in off), reuse=[before])
    assert found.reused == 9
    assert_same_run(found, model.run(edited(9), ablate=off))


@pytest.mark.usefixtures("held")
def test_narrow_dtype_reads_on_in_it():
    model = made().to(torch.bfloat16)
    before = model.run(IDS)
    found, whole = model.run(edited(9), reuse=[before]), model.run(edited(9))
    assert found.reused == 9
    assert {t.dtype for layer in found.layers for t in (layer.q, layer.k, layer.v)} == {
        torch.bfloat16
    }
    # bfloat16 has 8 bits, and sums in another order.
    torch.testing.assert_close(found.logits, whole.logits, rtol=0.05, atol=0.1)


# ------------------------------------------------------------------ what is run, and what is not


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ((*IDS, 8), 1),
        ((*IDS[:-1], 8), 1),
        (edited(T - 5), 5),
        ((*IDS[:9], 13, *IDS[10:]), T - 9),  # a word in the middle: all after it sees it
        ((*IDS[:9], 13, *IDS[9:]), T - 8),
        (IDS, 0),
        (IDS[:-1], 0),
        (IDS[:1], 0),
        ((13, *IDS[1:]), T),
        (edited(4, 16), 12),
        (edited(4, 17), 17),  # less than a quarter
    ],
)
def test_tokens_are_read_from_the_first_that_differs(model, text, read):
    found, count = read_by(model, text, reuse=[model.run(IDS)])
    assert count == read
    assert found.reused == len(text) - read
    assert_same_run(found, model.run(text))


@pytest.mark.usefixtures("held")
def test_shorter_text_is_a_part_of_the_earlier_run_and_keeps_nothing_else_of_it(model):
    before = model.run(IDS)
    found, count = read_by(model, IDS[:7], reuse=[before])
    assert count == 0
    assert_same_run(found, model.run(IDS[:7]))
    for layer in found.layers:
        for kept in (layer.q, layer.k, layer.v):
            assert kept.untyped_storage().nbytes() == kept.nbytes


def test_joined_run_holds_one_more_record_and_no_more(model):
    before = model.run(IDS)
    found = model.run((*IDS, 8), reuse=[before])
    storages = {
        kept.untyped_storage().data_ptr(): kept.untyped_storage().nbytes()
        for layer in found.layers
        for kept in (layer.q, layer.k, layer.v)
    }
    assert sum(storages.values()) + found.logits.nbytes == found.nbytes


def test_labels_are_those_of_the_new_text(model):
    before = model.run(Tokens("ab", IDS[:2], ("a", "b"), ((0, 1), (1, 2))))
    named = Tokens("xyz", IDS[:3], ("x", "y", "z"), ((0, 1), (1, 2), (2, 3)))
    for text in (named, named.first(2)):
        assert model.run(text, reuse=[before]).tokens == text


def test_longest_beginning_is_taken(model):
    records = [model.run(text) for text in (IDS[:4], edited(13), IDS[:8], edited(9))]
    found, count = read_by(model, IDS, reuse=records)
    assert count == T - 13
    assert_same_run(found, model.run(IDS))


def test_short_logits_before_a_text_whose_logits_are_read_late_are_run_again(model, monkeypatch):
    for module in (prefix, read_out):
        monkeypatch.setattr(module, "AT_ONCE", 4 * 101 * T)
    before = model.run(IDS)
    found, count = read_by(model, (*IDS, 8), reuse=[before])
    assert count == T + 1
    again, count = read_by(model, edited(15, T), reuse=[found])  # the other way, they are read
    assert count == T - 15
    assert_same_run(again, model.run(edited(15, T)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [((7, 1, 2), (7, 1, 3, 2), 2), ((7,), (7, 1), 1), ((1,), (7, 1), 0), (IDS, IDS, T)],
)
def test_shared_ids(a, b, expected):
    assert shared(a, b) == shared(b, a) == expected
