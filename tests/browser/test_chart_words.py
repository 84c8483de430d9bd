"""What the pictures say of a cell without a weight, in a real JavaScript engine."""

import pytest

from components.mounting import JS

LATER, FIRST = "cannot attend: later token", "hidden: first token"
BEFORE = "cannot attend: before the window of 5 tokens"
CALL = """
([source, kind, header, place]) => {
    const parts = new Function(source + `; return { grid, detail };`)();
    const point = { pointIndex: place, z: NaN };
    const nothing = new Uint8Array(new Float32Array(49).fill(NaN).buffer);
    const words = kind === 'grid' ? parts.grid(header, nothing) : parts.detail(header);
    return words.words(point).split(`\\n`).pop();
}
"""


@pytest.fixture
def said(new_page):
    page = new_page()
    source = "\n".join((JS / f"{name}.js").read_text() for name in ("shared", "chart"))
    source = source.replace("export default function", "function main")

    def last_line(kind, place, *, window, reach):
        header = {
            "window": window,
            "reach": reach,
            "step": 2,
            "labels": ["x"] * 14,
            "of": "",
            "query": 0,
            "layer": 0,
            "head": 0,
            "heads": 1,
            "columns": 1,
            "accent": "#000000",
            "side": 7,
            "pitchX": 8,
            "pitchY": 8,
        }
        return page.evaluate(CALL, [source, kind, header, place])

    return last_line


@pytest.mark.parametrize("kind", ["grid", "detail"])
def test_cell_without_a_weight_says_why(said, kind):
    for place, expected in {(1, 2): LATER, (6, 3): BEFORE, (6, 0): BEFORE, (2, 0): FIRST}.items():
        assert said(kind, list(place), window=5, reach=3) == expected
    assert said(kind, [6, 0], window=None, reach=None) == FIRST
