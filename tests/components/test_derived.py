"""What is worked out of a run for the pictures, against whole patterns."""

import numpy as np
import pytest

from attention.scores import head_scores, label_heads
from components import derived, first_map, looks
from components.figures.grid import THUMBNAIL
from components.looks import Look
from tests.builders import assert_arrays_close, model_config, small_model
from tests.components.test_long_head import long_record

LENGTH = 131  # no multiple of what a thumbnail's cell covers


@pytest.fixture(scope="module")
def record():
    model = small_model(model_config(context_length=LENGTH))
    ids = np.random.default_rng(2).integers(0, model.config.vocab_size, LENGTH)
    return model.run(ids.tolist())


@pytest.mark.parametrize("hide_first", [False, True])
def test_thumbnails_hold_the_largest_weights_of_whole_patterns(record, hide_first):
    look = Look(hide_first=hide_first)
    scan = derived.scan(record, look)
    for layer in range(record.num_layers):
        for head, found in enumerate(scan.layer(layer).thumbnails):
            whole = looks.shown_pattern(record, layer, head, look)
            assert_arrays_close(found, looks.pooled(whole, THUMBNAIL), rtol=1e-5)


@pytest.mark.parametrize("hide_first", [False, True])
def test_thumbnails_of_a_window_hold_the_largest_weights(hide_first):
    record, look = long_record(23), Look(hide_first=hide_first)
    found = derived.scan(record, look).layer(0).thumbnails[1]
    whole = looks.shown_pattern(record, 0, 1, look)
    expected = looks.pooled(whole, THUMBNAIL)
    reach = looks.blocks_seen(23, looks.step(record.seq_len, THUMBNAIL))
    assert_arrays_close(looks.only_seen(found, reach), looks.only_seen(expected, reach), rtol=1e-5)


def test_habits_are_those_of_all_scores(record):
    scan = derived.scan(record, Look())
    labels = label_heads(head_scores(record))
    for layer, expected in enumerate(labels):
        found = scan.layer(layer).habits
        assert [h and (h.metric, round(h.value, 5)) for h in found] == [
            h and (h.metric, round(h.value, 5)) for h in expected
        ]


def test_best_is_the_highest_template_score(record):
    scores = head_scores(record)
    templates = [score for name, score in scores.items() if name != "entropy"]
    highest = np.nanmax(np.stack(templates), axis=0)
    for layer in range(record.num_layers):
        best = derived.scan(record, Look()).layer(layer).best
        assert_arrays_close(np.array([score for _, score in best]), highest[layer], rtol=1e-4)


def test_short_text_is_looked_at_whole_and_a_long_one_is_not(record, monkeypatch):
    assert not derived.scan(record, Look()).missing
    monkeypatch.setattr(derived, "AT_ONCE", 0)
    monkeypatch.setattr(derived, "_kept", {})
    assert len(derived.scan(record, Look()).missing) == record.num_layers


def test_stored_map_is_there_whole():
    stored = first_map.load()
    scan = derived.scan(stored, Look())
    assert scan.layer(1).habits == stored.habits[1]
    assert scan.layer(0).thumbnails.shape[:1] == (stored.num_heads,)


def test_one_head_tells_how_far_it_is():
    record, shares = long_record(), []
    derived.one_head(record, 0, 0, Look(), shares.append)
    assert shares == []  # a short head is read at once
    long = derived.LongHead(record, 0, 0)
    long.survey(shares.append)
    assert shares[-1] == 1.0
