import dataclasses

import pytest
import torch

from attention import read_out as module_under_test
from attention.errors import ConfigError, ModelError
from attention.read_out import ReadOut
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
MAKES = {
    "tied": {},
    "untied, with a bias": {"tied": False, "unembed_bias": True},
    "of another width, capped": {"embed_dim": 19, "logit_cap": 5.0, "norm": "layer"},
    "without a last norm": {"final_norm": False},
}


@pytest.fixture
def late(monkeypatch):
    """Logits are never few enough to be held."""
    monkeypatch.setattr(module_under_test, "AT_ONCE", 0)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("block", [1, 4 * 101 * 4, 1 << 24])
def test_logits_read_late_are_those_of_the_forward_pass(monkeypatch, make, block):
    monkeypatch.setattr(module_under_test, "BLOCK", block)
    model = small_model(dataclasses.replace(model_config(), **MAKES[make]))
    record = model.run(IDS, implementation="batched")
    assert isinstance(record.read_out, ReadOut)
    with torch.no_grad():
        expected = model(torch.tensor([IDS]))[0]
    torch.testing.assert_close(record.logits, expected)
    for rows in (slice(3, 8), slice(-1, None), slice(1, 10, 4), slice(5, 5)):
        torch.testing.assert_close(record.logits_at(rows), expected[rows])


def test_few_logits_are_held(monkeypatch):
    record = small_model().run(IDS)
    assert isinstance(record.read_out, torch.Tensor)
    held = record.logits
    monkeypatch.setattr(module_under_test, "AT_ONCE", 4 * 11 * 101 - 1)
    late = small_model().run(IDS)
    assert isinstance(late.read_out, ReadOut)
    torch.testing.assert_close(late.logits, held)
    # The residual stream, 15 numbers a token, in place of the logits, 101.
    assert record.nbytes - late.nbytes == 4 * 11 * (101 - 15)


@pytest.mark.usefixtures("late")
def test_record_stays_when_the_model_moves():
    model = small_model()
    record, expected = model.run(IDS), model.run(IDS).logits
    model.to(torch.bfloat16)
    torch.testing.assert_close(record.logits, expected, rtol=0, atol=0)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("weight", ["embed.weight", "norm.weight"])
def test_logits_of_other_weights_are_refused(weight):
    # They would be those of no model: the stream of the old weights, read by the new ones.
    model = small_model()
    record = model.run(IDS)
    with torch.no_grad():
        model.get_parameter(weight).mul_(2)
    with pytest.raises(ModelError, match=r"small must be those of the run .* Run the text again"):
        record.logits_at(slice(-1, None))


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("weight", ["norm.weight", "blocks.0.attn.W_value.weight"])
def test_what_is_not_finite_is_told_by_the_run(weight):
    model = small_model()
    with torch.no_grad():
        model.get_parameter(weight)[0] = torch.nan
    with pytest.raises(ModelError, match="logits of small must be finite"):
        model.run(IDS)


@pytest.mark.usefixtures("late", "as_in_use")
def test_rows_that_are_no_slice_are_refused():
    with pytest.raises(ConfigError, match="rows must be a slice"):
        small_model().run(IDS).logits_at(-1)
