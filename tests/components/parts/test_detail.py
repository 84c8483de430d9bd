"""The strongest weights in words."""

import numpy as np

from components.parts.detail import STRONGEST, listing

NAN = np.nan


def test_listing_names_query_key_and_weight_strongest_first():
    weights = np.array([[1, NAN], [0.25, 0.75]], dtype=np.float32)
    assert listing(weights, ["<bos>", "cat"]) == "\n".join(
        [
            "query    key      weight",
            "0 <bos>  0 <bos>  1",
            "1 cat    1 cat    0.75",
            "1 cat    0 <bos>  0.25",
        ]
    )


def test_listing_of_one_row_keeps_its_place():
    row = np.array([[0.5, 0.5, NAN]], dtype=np.float32)
    lines = listing(row, ["a", "b", "c"], first_query=1).splitlines()
    assert [line.split() for line in lines[1:]] == [["1", "b", "0", "a", "0.5"],
                                                    ["1", "b", "1", "b", "0.5"]]  # fmt: skip


def test_listing_leaves_zeros_and_gaps_out():
    weights = np.array([[NAN, NAN], [0, 1]], dtype=np.float32)
    assert len(listing(weights, ["a", "b"]).splitlines()) == 2


def test_listing_is_cut_to_the_strongest():
    weights = np.full((7, 7), 0.5, dtype=np.float32)
    assert len(listing(weights, list("abcdefg")).splitlines()) == STRONGEST + 1
