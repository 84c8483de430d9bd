import json
from dataclasses import replace

import numpy as np
import pytest

from attention.errors import HeadscopeError
from attention.tokens import Tokenizer
from attention.training.archives import ArchiveError
from attention.training.readers import READERS, tidy
from attention.training.sources import WRITTEN
from attention.training.writer import stories as module
from attention.training.writer.decode import Sampling
from attention.training.writer.requests import PEOPLE, REQUESTS, TOPICS
from attention.training.writer.stories import PLANS, StoryPlan, so_far, write_stories
from tests.builders import byte_level_backend, model_config, small_model

PLAN = StoryPlan(
    kind="stories",
    characters=1,
    batch=3,
    num_tokens=5,
    sampling=Sampling(temperature=1.0, top_k=9),
    seed=1,
)
LONG = (
    "She walked home in the rain and thought about the long day. " * 3
    + "It was late by now; nobody spoke."
)


class StoppedError(Exception):
    """Somebody stops the writing."""


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.setattr(module, "END", "<bos>")
    monkeypatch.setitem(REQUESTS, "stories", lambda rng: f"the cat {rng.integers(10)}")
    tokenizer = Tokenizer(byte_level_backend(bos=False))
    return small_model(model_config(vocab_size=300), tokenizer=tokenizer)


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stop_after(batches):
    """A report that stops the writing."""
    seen = []

    def report(line):
        seen.append(line)
        if len(seen) == batches:
            raise StoppedError

    return report


def test_writing_that_was_stopped_ends_as_one_that_was_not(writer, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "tidy", lambda text: "x")
    plan = replace(PLAN, characters=9)
    write_stories(writer, tmp_path / "whole", plan, lambda line: None)

    stopped = tmp_path / "stopped"
    with pytest.raises(StoppedError):
        write_stories(writer, stopped, plan, stop_after(2))
    with stopped.open("a", encoding="utf-8") as file:
        file.write('{"batch": 2, "text": "cut o')  # killed while it wrote
    write_stories(writer, stopped, plan, lambda line: None)

    assert stopped.read_text() == (tmp_path / "whole").read_text()
    assert [line["batch"] for line in lines_of(stopped)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_plan_that_is_done_writes_nothing(writer, tmp_path):
    path = tmp_path / "s"
    path.write_text(f"{json.dumps({'text': LONG})}\n" * 3, encoding="utf-8")
    write_stories(writer, path, PLAN, stop_after(1))
    assert len(lines_of(path)) == 3


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "s"
    path.write_text("[]\n" * 3, encoding="utf-8")
    with pytest.raises(HeadscopeError, match="must hold a JSON object with a text in each line"):
        so_far(path, PLAN)


@pytest.mark.parametrize(("kind", "words"), [("stories", PEOPLE), ("explanations", TOPICS)])
def test_requests_vary_and_follow_the_writers_chat_format(kind, words):
    rng = np.random.default_rng(0)
    asked = [REQUESTS[kind](rng) for _ in range(2_000)]
    assert len(set(asked)) > 1_500
    assert all(ask.startswith("<|im_start|>user\n") for ask in asked)
    assert all(ask.endswith("<|im_start|>assistant\n") for ask in asked)
    assert {word for word in words for ask in asked if word in ask} == set(words)
    assert "{" not in "".join(asked)


def test_every_written_text_has_its_plan_and_its_requests():
    assert [plan.kind for plan in PLANS] == [source.name for source in WRITTEN] == list(REQUESTS)


def test_a_story_is_cut_after_its_last_whole_sentence_and_is_plain_ascii():
    assert tidy(f"{LONG} “Yes,” he sa") == LONG
    assert tidy(f"{LONG} “It’s café **time**.”") == f'{LONG} "It\'s cafe time."'


@pytest.mark.parametrize("text", ["", "Too short.", "no end " * 60, "I went to the shop. " * 20])
def test_what_is_short_unfinished_or_goes_in_circles_is_dropped(text):
    assert tidy(text) == ""


def test_the_corpus_gets_a_paragraph_a_line(tmp_path):
    first, second = LONG.replace("; ", ";\n\n"), "Too short."
    (tmp_path / PLAN.file_name).write_text(
        "".join(f"{json.dumps({'text': text})}\n" for text in (first, second)), encoding="utf-8"
    )
    assert READERS["stories"](tmp_path / "wheel") == [LONG.split(" nobody")[0], "nobody spoke."]


def test_stories_that_are_not_written_yet_are_named(tmp_path):
    with pytest.raises(ArchiveError, match="must be written first"):
        READERS["stories"](tmp_path / "wheel")


def test_a_plan_of_nothing_is_refused():
    with pytest.raises(HeadscopeError, match="batch must be at least 1; got 0"):
        replace(PLAN, batch=0)
