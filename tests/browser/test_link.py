"""The link between pictures that choose and Python, by itself: who is framed, and what is sent."""

import pytest

from tests.browser.server import ROOT

# The component in an empty page, with a Streamlit that only notes what it is sent.
OPEN = """async source => {
    const code = new Blob([source], { type: 'text/javascript' });
    const { default: mount, chooseThrough, linkNamed } = await import(URL.createObjectURL(code));
    const parentElement = document.createElement('div');
    document.body.append(parentElement);
    window.sent = [];
    window.framed = [];
    document.addEventListener('headscope:chosen', ({ detail }) => framed.push(detail.value));
    window.tell = value => mount({
        parentElement,
        data: { name: 'heads', value, event: 'head' },
        setTriggerValue: (event, chosen) => sent.push([event, chosen]),
    });
    window.choose = (value, wait) => chooseThrough('heads', value, wait);
    window.shown = () => linkNamed('heads').shown;
    window.idle = () => new Promise(done => setTimeout(done, 20));
}"""


@pytest.fixture
def link(new_page):
    parts = [(ROOT / "assets" / "js" / f"{name}.js").read_text() for name in ("shared", "link")]
    page = new_page()
    page.evaluate(OPEN, "\n".join([*parts, "export { chooseThrough, linkNamed };"]))
    return page


def test_what_python_shows_is_framed(link):
    assert link.evaluate("tell([1, 0]), shown()") == [1, 0]
    assert link.evaluate("tell([2, 3]), framed") == [[1, 0], [2, 3]]


def test_choice_is_framed_at_once_and_sent(link):
    link.evaluate("tell([1, 0]), choose([1, 1], 0)")
    assert link.evaluate("shown()") == [1, 1]
    assert link.evaluate("idle().then(() => sent)") == [["head", [1, 1]]]


def test_of_choices_in_quick_succession_the_last_is_sent(link):
    link.evaluate("tell([1, 0]), choose([1, 1], 9000), choose([1, 2], 9000), choose([1, 3], 0)")
    assert link.evaluate("idle().then(() => sent)") == [["head", [1, 3]]]
    assert link.evaluate("framed") == [[1, 0], [1, 1], [1, 2], [1, 3]]


def test_late_answers_move_the_frame_neither_back_nor_forth(link):
    link.evaluate("tell([1, 0]), choose([1, 1], 0), idle().then(() => choose([1, 2], 0))")
    # What was shown before, then the first choice's answer, before the second was sent and after.
    for answer in ([1, 0], [1, 1]):
        assert link.evaluate("value => (tell(value), shown())", answer) == [1, 2]
    link.evaluate("idle()")
    for answer in ([1, 1], [1, 2]):
        assert link.evaluate("value => (tell(value), shown())", answer) == [1, 2]
    assert link.evaluate("sent.map(([, value]) => value)") == [[1, 1], [1, 2]]
    assert link.evaluate("tell([3, 3]), shown()") == [3, 3], "chosen elsewhere since"


def test_choice_elsewhere_wins_over_one_that_was_sent(link):
    link.evaluate("tell([1, 0]), choose([1, 1], 0), idle()")
    assert link.evaluate("tell([2, 5]), shown()") == [2, 5]


def test_choice_waits_for_a_link(link):
    link.evaluate("choose([3, 5], 0)")
    assert link.evaluate("idle().then(() => sent)") == []
    assert link.evaluate("tell([1, 0]), idle().then(() => sent)") == [["head", [3, 5]]]
    assert link.evaluate("shown()") == [3, 5]


def test_link_that_has_gone_sends_nothing(link):
    link.evaluate("tell([1, 0])()")
    assert link.evaluate("choose([1, 1], 0), idle().then(() => sent)") == []
