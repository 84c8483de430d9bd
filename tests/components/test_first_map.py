"""The picture drawn before torch is there is the one that torch would draw."""

import numpy as np
import pytest

from attention import head_scores, load_model
from attention.scores import label_heads
from components import first_map

MAKE = "make it anew: python -m components.first_map"


@pytest.fixture(autouse=True)
def _fresh():
    first_map.load.cache_clear()
    yield
    first_map.load.cache_clear()


def test_map_is_of_the_model_and_text_at_hand():
    assert first_map.load() is not None, MAKE


def test_map_is_what_the_model_gives():
    first = first_map.load()
    record = load_model().run(first.tokens.text)
    assert first.tokens == record.tokens, MAKE
    assert (first.num_layers, first.num_heads) == (record.num_layers, record.num_heads)
    for layer in range(record.num_layers):
        np.testing.assert_allclose(
            first.patterns[layer], record.layer_pattern(layer), atol=1e-5, err_msg=MAKE
        )
    for stored, labels in zip(first.habits, label_heads(head_scores(record)), strict=True):
        assert [h and h.label for h in stored] == [h and h.label for h in labels]


def test_map_pools_as_a_record_does():
    first = first_map.load()
    record = load_model().run(first.tokens.text)
    np.testing.assert_allclose(first.pooled_layer(1, 7), record.pooled_layer(1, 7), atol=1e-5)


def test_map_of_another_model_is_not_used(monkeypatch):
    monkeypatch.setattr(first_map, "fingerprint", lambda: "another")
    assert first_map.load() is None


def test_missing_map_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(first_map, "FILE", tmp_path / "none.npz")
    assert first_map.load() is None
