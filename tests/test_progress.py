from threading import Event

import numpy as np
import pytest

from attention.layer_scan import scan_layer
from attention.progress import CancelledError, until
from attention.scores import head_scores
from tests.builders import small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
WORK = {
    "thumbnails": lambda record, progress: record.pooled_layer(1, 4, progress=progress),
    "scan": lambda record, progress: scan_layer(record, 1, size=4, progress=progress).thumbnails,
    "scores": lambda record, progress: head_scores(record, progress=progress),
}


@pytest.fixture(params=WORK)
def work(request, monkeypatch):
    """Work on a record, in many small blocks."""
    monkeypatch.setattr("attention.pooling.BLOCK_CELLS", 40)
    monkeypatch.setattr("attention.scores.blocks.BLOCK_CELLS", 40)
    monkeypatch.setattr("attention.scores.blocks.TOGETHER_CELLS", 40)
    monkeypatch.setattr("attention.scores.reading.CELLS_A_CALL", 40)
    record = small_model().run(IDS)
    return lambda progress: WORK[request.param](record, progress)


def test_shares_that_are_done_rise_to_all(work):
    told = []
    work(told.append)
    assert len(told) > 4
    assert told == sorted(set(told))
    assert told[0] > 0
    assert told[-1] == 1.0


def test_whoever_watches_changes_nothing(work):
    found, expected = work(lambda _: None), work(None)
    if isinstance(found, dict):
        found, expected = ([*t.values()] for t in (found, expected))
    np.testing.assert_array_equal(found, expected)


def test_work_ends_at_the_next_block_once_it_is_called_off(work):
    cancelled, told = Event(), []

    def tell(done):
        told.append(done)
        if len(told) == 2:
            cancelled.set()

    with pytest.raises(CancelledError, match="called off"):
        work(until(cancelled, tell))
    assert len(told) == 2
