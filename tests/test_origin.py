import copy
import dataclasses

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ModelError
from attention.rope_scaling import Dynamic
from attention.rotary import Rope
from tests.reused import IDS, PLAIN, T, assert_same_run, made, read_by


@pytest.fixture(scope="module")
def model():
    return made()


def changed_in_place(model):
    with torch.no_grad():
        model.blocks[1].mlp.up.weight.mul_(1.5)


def moved(model):
    # The memory of the first weights is free then, and may be where the last are put.
    model.to(torch.bfloat16).to(torch.float32)


def loaded(model):
    model.load_state_dict(made(PLAIN).double().float().state_dict(), assign=True)


@pytest.mark.parametrize("change", [changed_in_place, moved, loaded])
def test_run_of_other_weights_is_not_reused(change):
    model = made()
    before = model.run(IDS)
    change(model)
    for text in (IDS, IDS[:5], (*IDS, 8)):
        found, count = read_by(model, text, reuse=[before])
        assert (found.reused, count) == (0, len(text))


def test_run_of_another_model_or_in_another_way_is_not_reused(model):
    others = [
        copy.deepcopy(model).run(IDS),
        model.run(IDS, ablate=[(1, 0)]),
        model.run(IDS, implementation="looped"),
        dataclasses.replace(model.run(IDS), origin=None),
    ]
    found, count = read_by(model, (*IDS, 8), reuse=others)
    assert (found.reused, count) == (0, T + 1)


def test_run_under_autocast_is_not_reused_nor_reuses():
    model = made()
    plain = model.run(IDS)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = model.run(IDS, reuse=[plain])
        assert narrow.reused == model.run(IDS, reuse=[narrow]).reused == 0
    assert model.run(IDS, reuse=[narrow]).reused == 0


def test_implementation_without_a_cache_runs_the_whole_text():
    attention = AttentionConfig.total(12, 12, 3, 61)
    model = made(
        dataclasses.replace(PLAIN, rope=None, positions=61, norm="layer", attention=attention)
    )
    before = model.run(IDS, implementation="torch")
    found, count = read_by(model, (*IDS, 8), implementation="torch", reuse=[before])
    assert count == T + 1
    assert_same_run(found, model.run((*IDS, 8), implementation="torch"))
    assert read_by(model, IDS[:5], implementation="torch", reuse=[before])[1] == 0


def test_wavelengths_that_depend_on_the_length_are_those_of_the_whole_text():
    # A shorter text is no part of a longer one there: all q and k are turned otherwise.
    config = dataclasses.replace(PLAIN, rope=Rope(scaling=Dynamic(factor=4.0, original_length=12)))
    model = made(config)
    before = model.run(IDS)
    for text, expected in (((*IDS, 8), 0), (IDS[:13], 0), (IDS[:9], 0), (IDS, T)):
        found = model.run(text, reuse=[before])
        assert found.reused == expected
        assert_same_run(found, model.run(text))
    short = model.run(IDS[:9])
    assert model.run(IDS[:11], reuse=[short]).reused == 9
    assert model.run(IDS[:13], reuse=[short]).reused == 0


def test_what_is_not_finite_after_the_beginning_is_told():
    model = made(dataclasses.replace(PLAIN, tied=False))
    with torch.no_grad():
        model.embed.weight[8] = torch.nan
    before = model.run(IDS)
    with pytest.raises(ModelError, match="logits of small must be finite"):
        model.run((*IDS, 8), reuse=[before])
