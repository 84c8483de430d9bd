"""Sentences that may quote what a user typed."""

import pytest

from attention.errors import TextError
from components import messages


@pytest.mark.parametrize("typed", ["![x](http://e.example/a.png)", ":red[x]", "$x$", "<b>", "`a`"])
def test_quoted_text_means_nothing_to_markdown(typed):
    escaped = messages.plain(f"got {typed}.")
    for special in "![]()<>`$:":
        assert special not in escaped.replace(f"\\{special}", "")


def test_line_breaks_do_not_begin_a_list():
    assert messages.plain("a\n- b") == "a \\- b"


def test_own_error_becomes_its_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(messages, "warn", shown.append)
    with messages.errors_as_sentences():
        raise TextError("text must be short; got long.")
    assert shown == ["text must be short; got long."]


def test_control_flow_of_streamlit_passes_through():
    class Stop(BaseException):
        pass

    with pytest.raises(Stop), messages.errors_as_sentences():
        raise Stop
