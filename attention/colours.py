"""One colour for each way to run the heads: the same in every chart, on the page and in files.

Okabe and Ito's set, safe for colour-blind readers, for those that are compared most; the loop's
kin are in its hue.
"""

COLOURS: dict[str, str] = {
    "looped": "#D55E00",
    "batched": "#0072B2",
    "sdpa": "#009E73",
    "fused": "#56B4E9",
    "reference": "#CC79A7",
    "looped_book": "#A34700",
    "looped_sdpa": "#E07B39",
    "threads": "#B5651D",
    "streams": "#8F4A1D",
    "einsum": "#7B68C8",
    "torch": "#8C8C8C",
    "vmap": "#A6761D",
    "grouped": "#4E79C4",
    "flex": "#5E9B2F",
    "capture": "#B0307A",
}
SPARE = "#E69F00"  # of one that nobody has given a colour yet


def colour_of(implementation: str) -> str:
    """The colour of a key of IMPLEMENTATIONS."""
    return COLOURS.get(implementation, SPARE)
