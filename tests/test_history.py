import math

import numpy as np
import pytest

from attention.history import History, Look, history_as_text, read_history
from attention.scores import HEAD_METRICS
from attention.training.forming_choice import choose_looks, distance


def look(at, *, induction=0.0, previous=0.0, loss=5.0):
    """A look after `at` steps of 7 tokens; head 1.2 finds repeats, head 0.1 looks back."""
    scores = {name: np.zeros((2, 3)) for name in HEAD_METRICS}
    scores["induction"][1, 2] = induction
    scores["previous_token"][0, 1] = previous
    return Look(
        step=at,
        tokens=7 * at,
        stage="only",
        train_loss=math.nan if at == 0 else loss,
        held_out_loss=loss + 1,
        first_copy_loss=7.0,
        second_copy_loss=7.0 - induction,
        scores=scores,
    )


def rising(values):
    return History(tuple(look(i, induction=v, previous=v / 2) for i, v in enumerate(values)))


def test_history_comes_back_as_it_was_written_to_four_digits(tmp_path):
    history = History((look(0), look(3, induction=1 / 3, previous=0.25)))
    (tmp_path / "h.json").write_text(history_as_text(history, (1,)))
    found, checkpoints = read_history(tmp_path / "h.json")
    assert checkpoints == (1,)
    assert [(seen.step, seen.tokens, seen.stage) for seen in found.looks] == [
        (0, 0, "only"),
        (3, 21, "only"),
    ]
    assert math.isnan(found.looks[0].train_loss)
    assert found.looks[1].scores["induction"][1, 2] == 0.3333
    assert history_as_text(found, (1,)) == (tmp_path / "h.json").read_text()


def test_bump_is_from_a_tenth_to_four_fifths_of_the_final_score():
    bump = rising([0.0, 0.04, 0.05, 0.3, 0.39, 0.4, 0.5]).bump
    assert (bump.start, bump.end) == (7 * 2, 7 * 5)


def test_head_has_formed_where_its_score_stays():
    history = rising([0.0, 0.5, 0.3, 0.4, 0.9])
    assert history.formed("induction", 1, 2) == 7 * 3  # once over 0.4 and back does not count
    assert history.formed("induction", 0, 0) is None
    assert history.formed("previous_token", 0, 1) is None


def test_what_a_repeat_saves_and_the_best_head():
    seen = look(5, induction=0.6)
    assert seen.saved == pytest.approx(0.6)
    assert seen.best("induction") == (0.6, 1, 2)


def test_few_looks_are_all_chosen():
    assert choose_looks(rising([0, 0.1, 0.2]), 5) == (0, 1, 2)


def test_choice_has_the_ends_and_is_dense_where_heads_change():
    values = [0.0] * 40 + [0.1 * i for i in range(10)] + [0.9] * 50
    chosen = choose_looks(rising(values), 12)
    assert (chosen[0], chosen[-1]) == (0, 99)
    assert len(chosen) == len(set(chosen)) == 12
    assert list(chosen) == sorted(chosen)
    assert sum(38 <= at <= 51 for at in chosen) >= 7


def test_a_score_that_falls_again_is_no_way_back():
    far = distance(rising([0.0, 0.6, 0.2, 0.9]))
    assert (np.diff(far) >= 0).all()
    assert far[-1] == pytest.approx(1)
