import itertools

import pytest
import torch

from attention import difference as module_under_test
from attention import memory
from attention.difference import compare, largest_difference
from attention.errors import ConfigError, DeviceError
from attention.implementations import IMPLEMENTATIONS
from attention.tokens import Tokens
from tests.builders import ways
from tests.reused import made

IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5)


@pytest.fixture(params=["at once", "in blocks"])
def blocks(request, monkeypatch):
    if request.param != "at once":
        monkeypatch.setattr(module_under_test, "BLOCK", 3 * 11 * 4)  # four rows; one position


@pytest.fixture(scope="module")
def model():
    return made()


@pytest.fixture
def tokens():
    return Tokens.from_ids(IDS)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", sorted(ways()))
def test_every_implementation_compares_equal_to_the_reference(name, model, tokens):
    difference = compare(model, tokens, name, "reference")
    assert 0 <= difference.output < 1e-5
    assert 0 <= difference.pattern < 1e-6
    assert difference.recomputed == (() if IMPLEMENTATIONS[name].has_pattern else (name,))


def test_fewer_heads_can_be_compared(model, tokens):
    assert compare(model, tokens, "looped", "batched", num_heads=2).output < 1e-5


def test_unknown_implementation_is_refused(model, tokens):
    with pytest.raises(ConfigError, match="implementation must be one of"):
        compare(model, tokens, "looped", "batch")


@pytest.mark.usefixtures("blocks")
def test_difference_of_patterns_and_outputs_is_the_largest_of_any_layer(tokens):
    """A fault that only the second layer's third head has must not be missed."""
    net = made()
    layers = net.attention_layers("looped")
    head = layers[1].heads[2]
    head.W_query.weight = torch.nn.Parameter(head.W_query.weight + 1.0)
    net.attention_layers = lambda name, **_: (
        layers if name == "looped" else [block.attn for block in net.blocks]
    )
    difference = compare(net, tokens, "looped", "batched")
    assert difference.pattern > 1e-3
    assert difference.output > 1e-5


def test_largest_difference_is_absolute():
    a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.5, 1.0, 3.0])
    assert largest_difference(a, b) == 1.0


def test_largest_difference_shows_nan():
    nan = torch.tensor([1.0, float("nan")])
    assert largest_difference(nan, torch.ones(2)) != largest_difference(nan, torch.ones(2))


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(("a", "b"), [("looped", "sdpa"), ("batched", "looped"), ("sdpa", "flex")])
@pytest.mark.parametrize("row", [0, 4, 10])
def test_fault_of_one_weight_is_found_in_whatever_block_it_is(
    model, tokens, monkeypatch, a, b, row
):
    rows, second = module_under_test._rows, itertools.cycle([False, True])

    def faulty(seen, some):
        found = rows(seen, some).clone()
        if next(second) and row in some:
            found[2, row - some.start, 10] += 0.25
        return found

    monkeypatch.setattr(module_under_test, "_rows", faulty)
    assert compare(model, tokens, a, b).pattern == pytest.approx(0.25, abs=1e-5)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("at", [0, 5, 10])
def test_fault_of_one_position_is_found_in_whatever_block_it_is(model, at):
    resid = torch.randn(1, 11, 15, generator=torch.Generator().manual_seed(20))
    other = resid.clone()
    other[0, at, 3] += 1
    with torch.inference_mode():
        expected = largest_difference(model.read_out(resid), model.read_out(other))
        assert module_under_test._of_outputs(model, resid, other) == pytest.approx(expected)
        assert expected > 0.1


@pytest.mark.usefixtures("blocks")
def test_what_is_no_number_stays_none(tokens):
    net = made()
    with torch.no_grad():
        net.blocks[0].attn.W_value.weight[0] = torch.nan
    found = compare(net, tokens, "sdpa", "batched")
    assert found.output != found.output


def test_two_ways_that_keep_no_pattern_hold_none(model, tokens, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 0)
    found = compare(model, tokens, "sdpa", "looped_sdpa")
    assert found.recomputed == ("sdpa", "looped_sdpa")
    assert 0 <= found.pattern < 1e-6


@pytest.mark.parametrize(
    ("a", "b", "needed", "named"),
    [
        ("looped", "batched", "4.36 kB", "looped and batched"),
        ("sdpa", "batched", "2.90 kB", "batched"),
    ],
)
def test_text_whose_patterns_do_not_fit_is_refused_before_it_is_run(
    model, tokens, monkeypatch, a, b, needed, named
):
    monkeypatch.setattr(memory, "free_memory", lambda device: 2000)
    monkeypatch.setattr(type(model), "begin", None)
    with pytest.raises(DeviceError) as error:
        compare(model, tokens, a, b)
    assert str(error.value).startswith(
        f"free memory of cpu must be at least {needed} to compare {a} and {b} on 11 tokens; it is "
        f"2.00 kB. All heads' patterns of a layer are held at once by {named}: compare"
    )
