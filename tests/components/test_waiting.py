"""What is said of work that the page waits for."""

from types import SimpleNamespace

import pytest

from components import state, waiting


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


class RunAgainError(Exception):
    """In the place of what Streamlit raises."""


@pytest.fixture
def page(monkeypatch):
    """What is chosen on a page; its `fragments` are those that run, empty for all of it."""
    chosen = SimpleNamespace(**{key: entry.default for key, entry in state.ENTRIES.items()})
    run = SimpleNamespace(fragment_ids_this_run=["strip"])

    def run_again():
        raise RunAgainError

    monkeypatch.setattr(state.st, "session_state", vars(chosen))
    monkeypatch.setattr(waiting.st, "rerun", run_again)
    monkeypatch.setattr(waiting, "get_script_run_ctx", lambda: run)
    return SimpleNamespace(chosen=chosen, run=run)


def test_fragment_that_polls_draws_all_where_something_was_chosen_elsewhere(page):
    state.seen()
    waiting.catch_up()
    page.chosen.head = 3
    with pytest.raises(RunAgainError):
        waiting.catch_up()
    state.seen()
    waiting.catch_up()


def test_choice_of_its_own_is_drawn_by_the_fragment_itself(page):
    state.seen()
    page.chosen.timed_heads = 2
    waiting.catch_up("timed_heads")


def test_run_of_the_whole_page_draws_all_anyway(page):
    state.seen()
    page.chosen.head = 3
    page.run.fragment_ids_this_run = None
    waiting.catch_up()
