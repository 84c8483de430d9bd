import numpy as np
import pytest

from attention.training.evaluate import Evaluation, pattern_scores, repeated_prompts

LENGTH = 5
SIZE = 2 * LENGTH + 1


def looking(back):
    """A head that puts all weight on the position ``back`` before, or the first one."""
    pattern = np.zeros((SIZE, SIZE), dtype=np.float32)
    for query in range(SIZE):
        pattern[query, max(0, query - back)] = 1
    return pattern


@pytest.mark.parametrize(
    ("back", "measure"),
    [(1, "previous"), (LENGTH, "duplicate"), (LENGTH - 1, "induction"), (SIZE, "first")],
)
def test_a_pure_head_scores_one_on_its_own_measure_only(back, measure):
    scores = pattern_scores(looking(back), LENGTH)
    assert scores[measure] == 1
    others = {name: score for name, score in scores.items() if name not in {measure, "first"}}
    # Position 1 has only the first token to look back at.
    assert max(others.values()) <= 1 / (SIZE - 1) + 1e-6


def test_scores_are_means_of_cells():
    pattern = np.zeros((5, 5), dtype=np.float32)  # bos a b a b
    pattern[1, 0], pattern[2, 1], pattern[3, 2], pattern[4, 3] = 1.0, 0.5, 0.3, 0.2
    pattern[3, 1], pattern[4, 2] = 0.6, 0.1
    scores = pattern_scores(pattern, 2)
    assert scores["previous"] == pytest.approx((1.0 + 0.5 + 0.3 + 0.2) / 4)
    assert scores["induction"] == pytest.approx((0.3 + 0.2) / 2)
    assert scores["duplicate"] == pytest.approx((0.6 + 0.1) / 2)
    assert scores["first"] == pytest.approx(1.0 / 4)


def test_prompts_are_bos_and_the_same_tokens_twice():
    prompts = repeated_prompts(997, rows=3, length=LENGTH)
    assert len(prompts) == 3
    for bos, *tokens in prompts:
        assert bos == 0
        assert tokens[:LENGTH] == tokens[LENGTH:]
        assert min(tokens) >= 257
        assert max(tokens) < 997
    assert prompts == repeated_prompts(997, rows=3, length=LENGTH)


def test_the_best_head_is_named_by_layer_and_head():
    table = np.zeros((2, 3), dtype=np.float32)
    table[1, 2] = 0.9
    seen = Evaluation(loss=1.0, copy_accuracy=0.0, scores={"induction": table})
    assert seen.best("induction") == (pytest.approx(0.9), 1, 2)
