"""A Plotly figure as plain data: what is drawn at every click is not checked property by property.

`plotly.graph_objects` looks at each of them, which takes longer than all else that a click needs
of Python. The tests have it look at every figure that is made here.
"""

import base64
import json
from typing import Any

from numpy.typing import NDArray

Drawing = dict[str, Any]  # its "data", a list of traces, and its "layout"
SHORT = {"float32": "f4", "uint8": "u1"}  # what Plotly calls the dtypes that are used here


def as_json(drawing: Drawing) -> str:
    """The figure as the browser reads it; arrays as typed ones, in which NaN is a gap."""
    return json.dumps(drawing, default=_typed, allow_nan=False, separators=(",", ":"))


def _typed(array: NDArray[Any]) -> dict[str, str]:
    return {
        "dtype": SHORT[str(array.dtype)],
        "bdata": base64.b64encode(array.tobytes()).decode("ascii"),
        "shape": ", ".join(map(str, array.shape)),
    }
