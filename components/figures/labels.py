"""What is written on figures: token labels, each in its own place, and fonts; nothing besides."""

LONGEST = 12  # characters of a label beside an axis; the hover has all
TEXT_FONT = '"Source Sans", "Source Sans Pro", sans-serif'
CODE_FONT = '"Source Code", "Source Code Pro", ui-monospace, monospace'

# What the figures of heads have in common. Plotly's own template is slow to check, send and draw.
PLAIN = {
    "template": {"data": {"scatter": [{"type": "scatter"}]}},  # as good as none
    "plot_bgcolor": "rgba(0,0,0,0)",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": TEXT_FONT},
    "hovermode": "closest",
}


def escaped(label: str) -> str:
    """A label that Plotly shows as it stands: it reads some HTML in its texts."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(label: str, longest: int = LONGEST) -> str:
    """A label cut to fit beside an axis, with … where something is missing."""
    return label if len(label) <= longest else label[: longest - 1] + "…"


def thinned(count: int, most: int) -> list[int]:
    """Which of `count` places get a label: all, or every n-th from the first, at most `most`."""
    return list(range(0, count, -(-count // most)))
