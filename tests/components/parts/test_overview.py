"""The map of layers × heads: what is sent, what comes back, what stands in for it."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components import state
from components.figures.overview import Overview
from components.looks import HIGHEST, Look
from components.parts import overview
from components.parts.overview import MISSING, SIDE, cells, side


def script():
    import numpy as np
    import streamlit as st

    from components.chosen import Chosen
    from components.figures.overview import Overview
    from components.looks import Look
    from components.parts import overview
    from components.theme import LIGHT

    layers, heads, large, done = st.session_state["sizes"]
    thumbnails = np.full((layers, heads, 64, 64), 0.25, dtype=np.float32)
    tags = [["previous token .91"] * heads] * layers
    picture = Overview(thumbnails, tags, done=range(done), run="a run")
    overview.draw(picture, Look(), LIGHT, large=large)
    overview.link(Chosen(1, 2, 0), (layers, heads))


def drawn(layers, heads, *, large=True, done=None, missing=False):
    page = AppTest.from_function(script, default_timeout=60)
    page.session_state["sizes"] = (layers, heads, large, layers if done is None else done)
    page.session_state[MISSING] = missing
    page.run()
    assert not page.exception
    return page


def sent(page, name):
    return [e.proto for e in page.get("bidi_component")
            if e.proto.component_name == f"headscope_{name}"]  # fmt: skip


def unpacked(proto):
    length = int.from_bytes(proto.bytes[:4], "little")
    return json.loads(proto.bytes[4 : 4 + length]), proto.bytes[4 + length :]


@pytest.mark.parametrize(
    ("layers", "heads", "cells_sent"), [(12, 12, 589_824), (30, 32, 3_932_160)]
)
def test_each_cell_is_sent_as_one_byte(layers, heads, cells_sent):
    (proto,) = sent(drawn(layers, heads), "overview")
    header, body = unpacked(proto)
    colours = 4 * header["colours"]
    assert len(body) == colours + cells_sent
    assert set(body[colours:]) == {65}, "a quarter of the way from 2 to 254"
    # 593,900 bytes for 144 heads and 3,954,000 for 960: beside the cells a name for each head.
    assert len(proto.bytes) < len(body) + 700 + 30 * layers * heads


def test_small_map_has_fewer_cells_of_the_same_thumbnails():
    (proto,) = sent(drawn(4, 8, large=False), "overview")
    header, body = unpacked(proto)
    assert header["side"] == 22, "3 × 3 of 64 are one"
    assert len(body) == 4 * (HIGHEST + 1) + 4 * 8 * 22 * 22
    assert header["words"]["3"][7] == "previous token .91"


def test_layers_that_are_not_there_are_not_sent():
    (proto,) = sent(drawn(4, 8, done=1), "overview")
    header, body = unpacked(proto)
    assert header["done"] == [0]
    assert header["run"] == "a run"
    assert len(body) == 4 * (HIGHEST + 1) + 8 * 64 * 64


def test_link_knows_the_choice_and_the_map_does_not():
    page = drawn(4, 8)
    (told,) = sent(page, "link")
    assert json.loads(told.json)["value"] == [1, 2]
    header, _ = unpacked(*sent(page, "overview"))
    assert "chosen" not in header


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ([3, 7], {"layer": 3, "head": 7}),
        ([0, 0], {"layer": 0, "head": 0}),
        ([4, 0], {}),  # of a larger model's picture, before this one's was there
        ([0, -1], {}),
        ([True, 1], {}),
        ([1.0, 1], {}),
        ([1], {}),
        ("12", {}),
        (None, {}),
    ],
)
def test_choice_is_taken_as_far_as_there_is_such_a_head(choice, expected, monkeypatch):
    taken = {}
    monkeypatch.setattr(overview, "event", lambda _key, _name: choice)
    monkeypatch.setattr(state, "put", taken.__setitem__)
    overview._choose((4, 8))
    assert taken == expected


def test_without_a_canvas_there_is_a_plain_picture_with_its_words():
    page = drawn(4, 8, missing=True)
    assert not sent(page, "overview")
    assert len(page.get("image")) == 1
    (caption,) = page.caption
    assert "layers down, heads across" in caption.value.replace("\\", "")
    assert "layer 0 · head 0: previous token .91" in caption.value.replace("\\", "")
    assert sent(page, "link"), "the choice beside the picture is still told"


def test_strong_weight_of_one_head_among_hundreds_survives():
    # 20 cells on 9 pixels: the first token's column was averaged away.
    thumbnails = np.full((30, 32, 64, 64), 0.001, dtype=np.float32)
    thumbnails[29, 31, 50, 13] = 1
    found = cells(Overview(thumbnails), Look())
    assert found.shape[-1] <= 10
    assert np.argwhere(found == HIGHEST).tolist() == [[29, 31, 50 // 7, 13 // 7]]
    assert side(4 * 8) == SIDE
