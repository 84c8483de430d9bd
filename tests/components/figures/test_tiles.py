"""What the tile viewer is sent, taken apart as the browser does it."""

import dataclasses

import numpy as np
import pytest

from components import long_head
from components.figures import tiles
from components.figures.tiles import Request, Viewed, answer, palette, within
from components.long_head import LongHead, Tile
from components.looks import HIGHEST, LOWEST, MASKED, Look, packed
from components.theme import LIGHT
from tests.builders import assert_arrays_close
from tests.components.test_long_head import LENGTH, long_record

LABELS = [f"t{i}" for i in range(LENGTH)]


@pytest.fixture
def viewed(monkeypatch):
    monkeypatch.setattr(long_head, "OVERVIEW", 31)
    head = LongHead(long_record(23), 0, 4)
    return Viewed(head, head.survey(), LABELS, 53, Look(), 1.0)


def unpacked(header, body):
    """Exact weights, palette, overview and tile, as assets/js/tiles.js reads them."""
    at, found = 0, {}
    for name, size in (("exact", 4), ("palette", 4), ("base", 1), ("tile", 1)):
        place = header.get(name)
        shape = (header["colours"], 1) if name == "palette" else place and place[5:]
        if shape is None:
            continue
        length = shape[0] * shape[1] * size
        part = body[at : at + length]
        found[name] = np.frombuffer(part, "<f4" if name == "exact" else "u1")
        if name != "palette":
            found[name] = found[name].reshape(shape)
        at += length
    assert at == len(body)
    return found


def test_first_answer_is_the_overview_with_all_labels(viewed):
    header, body = answer(viewed, Request(), LIGHT)
    assert header["labels"] == LABELS
    assert header["base"] == [0, 0, 127, 127, 5, 26, 26]
    assert header["tile"] is header["exact"] is None
    parts = unpacked(header, body)
    assert (parts["base"] == packed(viewed.survey.overview, viewed.look, 1.0)).all()
    assert parts["palette"].tobytes() == palette("cividis").tobytes()


@pytest.mark.parametrize(
    "tile", [Tile(3, 5, 50, 58), Tile(120, 97, 127, 127), Tile(0, 0, 127, 97, 3)]
)
def test_tile_comes_with_its_exact_weights_and_without_what_is_there(viewed, tile):
    header, body = answer(viewed, Request(7, viewed.name, tile, fresh=True), LIGHT)
    assert header["number"] == 7
    assert header["labels"] is header["base"] is None
    assert header["tile"] == header["exact"] == [*dataclasses.astuple(tile), *tile.shape]
    parts = unpacked(header, body)
    weights = viewed.head.tile(tile)
    assert parts["exact"].tobytes() == weights.tobytes()
    assert (parts["tile"] == packed(weights, viewed.look, 1.0)).all()
    rows, columns = np.indices(weights.shape)
    if tile.by == 1:
        distance = rows + tile.top - columns - tile.left
        assert ((parts["tile"] == MASKED) == ((distance < 0) | (distance >= 23))).all()


def test_large_tile_comes_without_exact_weights(viewed, monkeypatch):
    monkeypatch.setattr(tiles, "MOST_EXACT", 100)
    tile, patch = Tile(0, 0, 11, 11), Tile(60, 50, 66, 57)
    header, body = answer(viewed, Request(1, viewed.name, tile, patch, fresh=True), LIGHT)
    assert header["exact"] == [60, 50, 66, 57, 1, 6, 7]
    assert unpacked(header, body)["exact"].tobytes() == viewed.head.tile(patch).tobytes()
    header, _ = answer(viewed, Request(1, viewed.name, tile, tile, fresh=True), LIGHT)
    assert header["exact"] is None


def test_tile_that_is_only_still_in_view_is_sent_for_another_head_alone(viewed):
    asked = Request(1, viewed.name, Tile(3, 5, 50, 58))
    assert answer(viewed, asked, LIGHT)[0]["tile"] is None
    header, _ = answer(viewed, dataclasses.replace(asked, has="another"), LIGHT)
    assert header["tile"]
    assert header["base"]


def test_strongest_keys_of_the_query_are_named(viewed):
    row = viewed.head.row(53)
    keys = answer(viewed, Request(), LIGHT)[0]["keys"]
    assert [key for key, _ in keys] == np.argsort(-np.nan_to_num(row), kind="stable")[:8].tolist()
    assert_arrays_close(np.float32([weight for _, weight in keys]), row[[key for key, _ in keys]])


@pytest.mark.parametrize(
    "sent",
    [None, "tile", 7, {}, {"tile": [1, 2, 3]}, {"tile": [5, 0, 3, 4, 1]}, {"exact": "all"},
     {"tile": [0, 0, 1, 1, 0]}, {"tile": [0.5, 0, 1, 1, 1]}, {"tile": [True, 0, 3, 3, 1]},
     {"number": "1", "has": 3, "fresh": 1}],
)  # fmt: skip
def test_what_makes_no_sense_asks_for_nothing(sent):
    assert Request.read(sent) == Request()


def test_request_is_read_as_it_was_sent():
    sent = {"number": 3, "has": "a", "tile": [0, 1, 2, 3, 4], "exact": None, "fresh": True}
    assert Request.read(sent) == Request(3, "a", Tile(0, 1, 2, 3, 4), None, fresh=True)


def test_tile_of_a_longer_text_is_cut_or_left_out():
    assert within(Tile(100, 3, 200, 50), 127) == Tile(100, 3, 127, 50)
    assert within(Tile(127, 3, 200, 50), 127) is None
    assert within(Tile(0, 0, 16_384, 16_384), 16_384) is None
    assert within(Tile(0, 0, 16_384, 16_384, 16), 16_384)


def test_masked_cells_let_the_hatching_through():
    colours = palette("viridis")
    assert colours[MASKED, 3] == 0
    assert (colours[LOWEST:, 3] == 255).all()
    assert colours.shape == (HIGHEST + 1, 4)


def test_another_head_comes_without_the_labels_that_are_there(viewed):
    header, _ = answer(viewed, Request(3, "another head"), LIGHT, labelled=True)
    assert header["base"]
    assert header["labels"] is None
    assert header["text"] == viewed.text
    other = dataclasses.replace(viewed, labels=[*LABELS[1:], "end"])
    assert other.text != viewed.text


def test_tile_that_was_sent_is_not_sent_again_with_another_row(viewed):
    asked = Request(7, viewed.name, Tile(3, 5, 50, 58), fresh=True)
    header, _ = answer(viewed, asked, LIGHT)
    other = dataclasses.replace(viewed, query=29)
    again, body = answer(other, asked, LIGHT, sent=True)
    assert header["tile"]
    assert again["query"] == 29
    assert again["tile"] is again["exact"] is None
    assert set(unpacked(again, body)) == {"palette"}


def test_overview_on_its_way_is_not_sent_twice(viewed):
    first, _ = answer(viewed, Request(), LIGHT)
    again, body = answer(viewed, Request(), LIGHT, sent=True)
    assert first["base"]
    assert again["base"] is again["labels"] is None
    assert set(unpacked(again, body)) == {"palette"}
