"""What the browser reads is what Plotly itself would write of the same figure."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from components.figures.detail import Detail, detail_figure
from components.figures.drawing import as_json
from components.figures.grid import grid_figure
from components.looks import Look, only_seen
from components.theme import DARK

LABELS = ("<b>", "cat", "the", "cat", "sat")
WEIGHTS = only_seen(np.random.default_rng(0).random((5, 5), dtype=np.float32), 4)


@pytest.mark.parametrize("look", [Look(), Look(log=True, hide_first=True)])
def test_head_is_written_as_plotly_would(look):
    written(detail_figure(Detail(WEIGHTS, LABELS, look, 0.5, 4), DARK))


def test_heads_of_a_layer_are_written_as_plotly_would():
    tags = ["previous token", "", "first token"]
    written(grid_figure(np.stack([WEIGHTS] * 3), tags, look=Look(), top=1.0, ink=DARK))


def written(drawing):
    """Plotly checks each property, and refuses what it does not know."""
    assert json.loads(as_json(drawing)) == json.loads(go.Figure(drawing).to_json())


def test_number_that_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        as_json({"data": [], "layout": {"x": float("nan")}})
