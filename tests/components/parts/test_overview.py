"""The map of layers × heads."""

import pytest

from components.looks import GAP, HIGHEST, LOWEST, MASKED
from components.parts.overview import SIDE, palette, side
from components.theme import DARK, LIGHT, SCALES


def written(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.mark.parametrize("ink", [LIGHT, DARK])
@pytest.mark.parametrize("scale", list(SCALES))
def test_each_code_has_its_colour(scale, ink):
    colours = palette(scale, ink)
    assert colours.shape == (HIGHEST + 1, 4)
    assert colours[GAP, 3] == 0
    assert colours[MASKED, :3].tolist() == written(ink.masked)
    assert colours[LOWEST, :3].tolist() == written(SCALES[scale][0])
    assert colours[HIGHEST, :3].tolist() == written(SCALES[scale][-1])


def test_strong_weight_of_one_head_among_hundreds_survives():
    # 20 cells on 9 pixels: the first token's column was averaged away.
    assert side(4 * 8) == SIDE
    assert side(30 * 9) <= 10
