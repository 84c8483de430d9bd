"""All heads as bytes, as words, as lines of text and as a plain picture."""

import numpy as np
import pytest

from attention.errors import ConfigError
from components.figures.overview import EDGE, Overview, palette, plain_picture, pooled
from components.looks import GAP, HIGHEST, LOWEST, MASKED, Look, packed
from components.theme import DARK, LIGHT, SCALES

TAGS = [["induction .94", "", "first token .71"], ["", "previous token 1.0", ""]]
BEST = [[("induction", 0.94), ("first token", 0.31), None], [None, None, ("broad", 0.5)]]


def weights(layers=2, heads=3, side=5):
    """Every cell another weight; later keys hidden."""
    count = layers * heads * side * side
    cells = np.linspace(0, 1, count, dtype=np.float32).reshape(layers, heads, side, side)
    return np.where(np.tri(side, dtype=bool), cells, np.float32(np.nan))


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.mark.parametrize("ink", [LIGHT, DARK])
@pytest.mark.parametrize("scale", list(SCALES))
def test_each_code_has_its_colour(scale, ink):
    colours = palette(scale, ink)
    assert colours.shape == (HIGHEST + 1, 4)
    assert colours[GAP, 3] == 0
    assert colours[MASKED, :3].tolist() == rgb(ink.masked)
    assert colours[LOWEST, :3].tolist() == rgb(SCALES[scale][0])
    assert colours[HIGHEST, :3].tolist() == rgb(SCALES[scale][-1])


def test_cell_is_a_byte_and_those_of_layers_not_looked_at_are_left_out():
    cells = Overview(weights(), done={1}).cells(Look(), 64)
    assert cells.dtype == np.uint8
    assert np.array_equal(cells, packed(weights()[1:], Look(), 1.0))
    assert cells[0, 2, -1, -1] == HIGHEST
    assert cells[0, 0, 0, 1] == MASKED


def test_range_ends_at_the_largest_of_the_layers_that_are_there():
    cells = Overview(weights(), done=[0]).cells(Look(to_maximum=True), 64)
    assert cells.max() == HIGHEST


@pytest.mark.parametrize(("side", "most", "by"), [(7, 7, 1), (7, 6, 2), (23, 10, 3), (64, 24, 3)])
def test_strongest_cell_stands_for_those_around_it(side, most, by):
    codes = np.random.default_rng(3).integers(MASKED, HIGHEST, (2, 3, side, side), dtype=np.uint8)
    found = pooled(codes, most)
    blocks = range(0, side, by)
    expected = [[codes[..., y : y + by, x : x + by].max(axis=(2, 3)) for x in blocks]
                for y in blocks]  # fmt: skip
    assert np.array_equal(found, np.array(expected).transpose(2, 3, 0, 1))


def test_words_name_the_habit_or_the_highest_score():
    picture = Overview(weights(), TAGS, BEST)
    assert picture.words(0, 0) == "induction .94"
    assert picture.words(0, 1) == "no clear habit; most: first token .31"
    assert picture.words(1, 0) == "no clear habit"
    assert Overview(weights()).words(1, 0) == ""
    assert Overview(weights(), [[], TAGS[1]]).words(0, 0) == ""
    assert Overview(weights(), TAGS, done=[0]).words(1, 1) == "not looked at yet"


def test_description_names_the_clearest_heads_first():
    assert Overview(weights(), TAGS, BEST).described() == (
        "2 layers of 3 heads. Clearest habits: layer 1 · head 1: previous token 1.0; "
        "layer 0 · head 0: induction .94; layer 0 · head 2: first token .71."
    )


def test_description_says_what_is_missing():
    some = Overview(weights(), [TAGS[0], []], done=[0]).described()
    assert some.startswith("2 layers of 3 heads. 1 layer is not looked at yet. Clearest habits:")
    assert Overview(weights(), [[""] * 3] * 2).described().endswith("No head has a clear habit.")
    assert Overview(weights()).described() == "2 layers of 3 heads."


def test_description_names_ten_heads_of_many():
    tags = [[f"induction .{99 - n}" for n in range(12)]]
    said = Overview(weights(1, 12), tags).described()
    assert said.count("induction") == 10
    assert "induction .90" in said


def test_table_has_a_line_for_each_head_the_clearest_first():
    assert Overview(weights(), TAGS, BEST).table().splitlines() == [
        "head  habit                              score",
        "1.1   previous token                     1.0",
        "0.0   induction                          .94",
        "0.2   first token                        .71",
        "1.2   no clear habit; most: broad        .50",
        "0.1   no clear habit; most: first token  .31",
        "1.0   no clear habit",
    ]


def test_table_says_which_layers_are_missing():
    lines = Overview(weights(), [TAGS[0], []], done=[0]).table().splitlines()
    assert lines[-1] == "not looked at yet: layer 1"
    assert len(lines) == 1 + 3 + 1


@pytest.mark.parametrize("ink", [LIGHT, DARK])
def test_plain_picture_has_each_cell_in_its_colour(ink):
    picture = Overview(weights(), done=[1])
    image = plain_picture(picture, Look(), ink)
    cells = picture.cells(Look(), 64)
    grown = 4  # of 5 cells a side, so that a head can be seen
    pitch = 5 * grown + 1
    assert image.shape == (EDGE + 2 * pitch, EDGE + 3 * pitch, 3)
    for head in range(3):
        top, left = EDGE + pitch, EDGE + head * pitch
        dots = image[top : top + 5 * grown : grown, left : left + 5 * grown : grown]
        assert np.array_equal(dots, palette("cividis", ink)[cells[0, head], :3])
    empty = image[EDGE : EDGE + pitch, EDGE:]
    assert (empty == rgb(ink.page)).all(), "layer 0 is not there"
    for numbers in (image[:EDGE], image[:, :EDGE]):
        assert (numbers == rgb(ink.text)).all(axis=-1).any()


def test_plain_picture_of_hundreds_of_heads_keeps_a_strong_cell():
    cells = np.full((2, 32, 64, 64), 0.01, dtype=np.float32)
    cells[1, 31, 62, 3] = 1
    image = plain_picture(Overview(cells), Look(), LIGHT)
    assert image.shape[1] <= 800
    strong = (image == rgb(SCALES["cividis"][-1])).all(axis=-1)
    assert np.argwhere(strong).min(axis=0).tolist() > [
        image.shape[0] // 2,
        image.shape[1] * 9 // 10,
    ]
    assert strong.sum() == 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"thumbnails": np.zeros((2, 3, 5, 4), dtype=np.float32)}, "thumbnails must be"),
        ({"tags": TAGS[:1]}, "tags must be 2 rows of 3"),
        ({"best": [[None] * 2] * 2}, "best must be 2 rows of 3"),
        ({"done": [2]}, "done must be layers from 0 to 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, rule):
    with pytest.raises(ConfigError, match=rule):
        Overview(**{"thumbnails": weights(), **change})
