"""What is said of work that the page waits for."""

import pytest

from components import waiting


@pytest.fixture
def said(monkeypatch):
    """What the line says, in order; None once it is gone."""
    found = []

    class Line:
        def caption(self, words):
            found.append(words)

        def empty(self):
            found.append(None)

    monkeypatch.setattr(waiting.st, "empty", Line)
    return found


@pytest.fixture
def clock(monkeypatch):
    """Seconds that the test sets."""
    now = [100.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    return now


def test_short_work_says_nothing(said, clock):
    with waiting.waiting("Working", "work") as tell:
        clock[0] += waiting.SOON_S / 2
        tell(0.5)
    assert said == [None]


def test_long_work_says_how_far_it_is_but_not_all_the_time(said, clock):
    with waiting.waiting("Working", "work") as tell:
        clock[0] += 10
        tell(0.25)
        tell(0.26)
        clock[0] += 10
        tell(0.5)
    assert said == ["Working: 25%, about 30 s left", "Working: 50%, about 20 s left", None]


def test_what_the_page_raises_there_ends_the_work(said, clock, monkeypatch):
    def end(_, words):
        raise KeyboardInterrupt

    monkeypatch.setattr(waiting.st.empty, "caption", end)
    with waiting.waiting("Working", "work") as tell:
        clock[0] += 10
        with pytest.raises(KeyboardInterrupt):
            tell(0.25)
