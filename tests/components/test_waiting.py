"""What is said of work that the page waits for."""

import pytest

from components import waiting


class Line:
    """A place on the page that notes what it is given."""

    def __init__(self):
        self.said = []

    def caption(self, words):
        self.said.append(words)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that the test sets."""
    now = [100.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    return now


def test_short_work_says_nothing(clock):
    line = Line()
    tell = waiting.telling(line, "Working")
    clock[0] += waiting.SOON_S / 2
    tell(0.5)
    assert line.said == []


def test_long_work_says_how_far_it_is_but_not_all_the_time(clock):
    line = Line()
    tell = waiting.telling(line, "Working")
    clock[0] += 10
    tell(0.25)
    tell(0.26)
    clock[0] += 10
    tell(0.5)
    assert line.said == ["Working: 25%, about 30 s left", "Working: 50%, about 20 s left"]


def test_what_the_page_raises_there_ends_the_work(clock):
    class Ending:
        def caption(self, words):
            raise KeyboardInterrupt

    tell = waiting.telling(Ending(), "Working")
    clock[0] += 10
    with pytest.raises(KeyboardInterrupt):
        tell(0.25)
