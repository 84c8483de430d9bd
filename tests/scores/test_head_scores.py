import numpy as np
import pytest

from attention.errors import ConfigError
from attention.scores import (
    HEAD_METRICS,
    head_scores,
    label_heads,
    probe_scores,
    repeated_tokens,
)
from tests.builders import (
    assert_arrays_close,
    model_config,
    previous_token_pattern,
    record_of,
    small_model,
    uniform_pattern,
)

WORKED = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.2, 0.3, 0.5, 0], [0.1, 0.15, 0.5, 0.25]]


def close(actual, expected):
    # The patterns went through a float32 softmax of float32 logarithms.
    assert_arrays_close(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("previous_token", (0.5 + 0.3 + 0.5) / 3),
        ("current_token", (1 + 0.5 + 0.5 + 0.25) / 4),
        ("first_token", (0.5 + 0.2 + 0.1) / 3),
    ],
)
def test_worked_pattern_gives_the_worked_score(metric, score):
    close(head_scores(record_of(WORKED))[metric], [[score]])


def test_scores_are_the_same_in_blocks_of_one_row(monkeypatch):
    record = small_model().run([7, 1, 2, 3, 1, 2, 3, 2, 2, 5, 1])
    whole = head_scores(record)
    monkeypatch.setattr("attention.scores.blocks.BLOCK_CELLS", 1)
    rows = head_scores(record)
    for name, scores in whole.items():
        close(rows[name], scores)


def test_scores_have_a_row_a_layer_and_a_column_a_head():
    scores = head_scores(small_model(model_config(num_layers=2, num_heads=3)).run([1, 2, 3, 1, 2]))
    assert set(scores) == set(HEAD_METRICS)
    assert {table.shape for table in scores.values()} == {(2, 3)}


@pytest.mark.parametrize("metric", ["induction", "duplicate_token"])
def test_text_without_repeats_is_not_measured_rather_than_zero(metric):
    assert np.isnan(head_scores(record_of(WORKED, ids=[1, 2, 3, 4]))[metric]).all()


def test_single_token_measures_nothing_but_itself():
    scores = head_scores(record_of([[1.0]]))
    # Its only weight is on itself: that once made every head a "current token" head.
    assert label_heads(scores) == [[None]]
    close(scores.pop("current_token"), [[1.0]])
    assert all(np.isnan(table).all() for table in scores.values())


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("seq_len", [2, 3, 5, 200])
def test_uniform_head_is_labelled_broad_and_nothing_else(seq_len):
    # A repeated text, so that every metric is measured; with two tokens the weight on the
    # current one is .75, which earned "current token" in a rule without this case.
    record = record_of(uniform_pattern(seq_len), ids=[i % 3 for i in range(seq_len)])
    scores = head_scores(record)
    close(scores["entropy"], [[1.0]])
    [[label]] = label_heads(scores)
    assert label is not None
    assert label.label == "broad"


@pytest.mark.parametrize("seq_len", [5, 200])
@pytest.mark.parametrize("period", [1, 2, 3, 200])
def test_previous_token_head_is_never_labelled_induction(seq_len, period):
    # In `a b a b` the token after the earlier copy is the previous token: a template that
    # keeps such cells takes a previous-token head for an induction head.
    ids = [i % period for i in range(seq_len)]
    scores = head_scores(record_of(previous_token_pattern(seq_len), ids=ids))
    assert not (scores["induction"] > 0.1).any()
    [[label]] = label_heads(scores)
    assert label is not None
    assert (label.metric, label.label) == ("previous_token", "previous token")
    close(label.value, 1.0)


def test_first_token_head_is_not_labelled_duplicate_where_the_first_token_returns():
    pattern = [[1.0, 0, 0, 0]] * 4
    [[label]] = label_heads(head_scores(record_of(pattern, ids=[5, 2, 3, 5])))
    assert label is not None
    assert label.label == "first token"


def test_head_that_does_nothing_clearly_has_no_label():
    pattern = [[1, 0, 0, 0], [0.55, 0.45, 0, 0], [0.15, 0.4, 0.45, 0], [0.02, 0.48, 0.42, 0.08]]
    assert label_heads(head_scores(record_of(pattern))) == [[None]]


def test_each_head_gets_its_own_label():
    record = record_of(uniform_pattern(5), previous_token_pattern(5))
    [labels] = label_heads(head_scores(record))
    assert [label and label.label for label in labels] == ["broad", "previous token"]


def test_every_metric_has_its_own_name_title_label_and_a_summary():
    metrics = HEAD_METRICS.values()
    for field in ("name", "title", "label", "summary", "measure"):
        assert len({getattr(metric, field) for metric in metrics}) == len(HEAD_METRICS)
    assert all(metric.summary.endswith(".") and 0 < metric.threshold < 1 for metric in metrics)
    assert [metric.name for metric in metrics] == list(HEAD_METRICS)


# ------------------------------------------------------------------ the probe


def test_probe_scores_are_the_definitions_on_bos_and_a_text_twice():
    model = small_model(model_config(context_length=61))
    length = 30
    tokens = repeated_tokens(model.config)
    assert len(tokens) == 1 + 2 * length  # 50 would not fit into 61
    record, scores = model.run(tokens), probe_scores(model)
    second = np.arange(length + 1, 2 * length + 1)
    behind = np.arange(1, 2 * length + 1)
    for layer in range(2):
        pattern = record.layer_pattern(layer).astype(np.float64)
        expected = {
            "induction": pattern[:, second, second - length + 1],
            "duplicate_token": pattern[:, second, second - length],
            "previous_token": pattern[:, behind, behind - 1],
            "first_token": pattern[:, behind, 0],
        }
        for name, cells in expected.items():
            close(scores[name][layer], cells.mean(axis=1))


def test_probe_is_bos_then_random_tokens_without_repetition_twice():
    config = model_config(vocab_size=211, context_length=151)
    bos, *rest = repeated_tokens(config)
    assert bos == config.bos_token_id
    assert rest[:50] == rest[50:]
    assert len(set(rest) | {bos}) == 51
    assert repeated_tokens(config) == (bos, *rest)
    assert repeated_tokens(config, seed=1) != (bos, *rest)


def test_probe_of_a_small_vocabulary_is_shorter():
    assert len(repeated_tokens(model_config(vocab_size=8))) == 1 + 2 * 7


def test_probe_without_room_is_refused():
    with pytest.raises(ConfigError, match="at least 2; got 1 for a context of 4"):
        repeated_tokens(model_config(context_length=4))


# ------------------------------------------------------------------ repeats


def test_weight_divided_among_several_earlier_copies_is_added_up():
    # A word that stands three times has two such keys in its last row: the mean over cells
    # gave a head that puts everything there half the score of one that has a single key.
    ids = [0, 5, 1, 2, 3, 5, 7, 8, 9, 5]
    pattern = np.eye(10)
    pattern[5] = np.eye(10)[2]
    pattern[9] = (np.eye(10)[2] + np.eye(10)[6]) / 2
    close(head_scores(record_of(pattern.tolist(), ids=ids))["induction"], [[1.0]])


def test_one_word_over_and_over_tells_no_induction_head():
    # Nearly every key follows an earlier copy there: any head would score.
    scores = head_scores(record_of(uniform_pattern(7), ids=[0, 4, 4, 4, 4, 4, 4]))
    assert np.isnan(scores["induction"]).all() or (scores["induction"] < 0.4).all()


def test_induction_head_that_rests_on_the_first_token_is_called_by_what_it_does():
    # Rows without an earlier copy rest on the first token: their mean hid the induction head.
    ids = [0, 5, 1, 2, 3, 5, 7, 8, 9]
    pattern = np.zeros((9, 9))
    pattern[:, 0] = 1.0
    pattern[5] = np.eye(9)[2]
    [[label]] = label_heads(head_scores(record_of(pattern.tolist(), ids=ids)))
    assert label is not None
    assert label.label == "induction"
