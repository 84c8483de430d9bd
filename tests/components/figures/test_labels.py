"""Token labels on axes."""

import itertools

import pytest

from components.figures.labels import escaped, shortened, thinned


@pytest.mark.parametrize(("count", "most"), [(1, 48), (48, 48), (49, 48), (120, 48), (1000, 7)])
def test_thinning_starts_at_the_first_and_stays_within_the_limit(count, most):
    at = thinned(count, most)
    assert at[0] == 0
    assert len(at) <= most
    assert len({b - a for a, b in itertools.pairwise(at)}) <= 1


def test_long_labels_are_cut_with_a_sign():
    assert shortened("␣responsibility") == "␣responsibi…"
    assert shortened("␣twelve long") == "␣twelve long"


def test_ampersand_is_escaped_once():
    assert escaped("&lt;") == "&amp;lt;"
