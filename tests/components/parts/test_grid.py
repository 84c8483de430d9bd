"""All heads of a layer: what is said of the cells."""

from components.looks import Look
from components.parts.grid import Seen, legend


def test_legend_says_how_far_a_layer_with_a_window_sees():
    said = legend(Seen(["x"] * 5, window=3), Look(), 1.0)
    assert said.endswith(" Each token sees the last 3 up to itself, not all.")
    assert "sees the last" not in legend(Seen(["x"] * 5), Look(), 1.0)


def test_legend_counts_the_tokens_of_a_cell():
    assert "Each cell is the largest of 3 × 3 weights." in legend(Seen(["x"] * 130), Look(), 1.0)
    assert "Each cell" not in legend(Seen(["x"] * 64), Look(), 1.0)
