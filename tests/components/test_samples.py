"""The sample texts, and the file that they are read from."""

import json

import pytest

from attention import load_model
from attention.errors import ConfigError
from attention.scores import HEAD_METRICS, head_scores, label_heads
from components.parts.guide import clearest
from components.samples import SAMPLES, read_samples

GOOD = {"name": "a name", "text": "a text", "look_for": "A sentence.", "shows": "induction"}
MOST_TOKENS = 45  # more, and the cells of the large picture are hard to tell apart


@pytest.fixture(scope="module")
def model():
    return load_model()


def written(tmp_path, content):
    path = tmp_path / "samples.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# ------------------------------------------------------------------ what ships


def test_samples_are_those_promised():
    names = [sample.name for sample in SAMPLES]
    assert names == [
        "agreement", "repeated name", "list", "rhyme", "code", "dialogue", "random twice",
        "random string",
    ]  # fmt: skip


def test_every_kind_of_head_that_needs_a_text_has_one():
    # A broad head has nothing to find: any text shows it.
    assert {sample.shows for sample in SAMPLES} - {None} == set(HEAD_METRICS) - {"entropy"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_sample_is_short_enough_to_be_read_off_the_picture(model, sample):
    assert len(model.tokens(sample.text)) <= MOST_TOKENS
    assert len(sample.look_for) <= 110  # one line with its button at 1280 px


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_some_head_of_the_embedded_model_does_what_the_sample_is_for(model, sample):
    if sample.shows is not None:
        assert sample.shows in clearest(label_heads(head_scores(model.run(sample.text))))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_words_that_a_sentence_quotes_are_in_its_text(sample):
    for quoted in sample.look_for.split("“")[1:]:
        assert quoted.partition("”")[0] in sample.text


@pytest.mark.parametrize("name", ["random twice", "random string"])
def test_random_text_is_the_same_twice(name):
    text = next(sample.text for sample in SAMPLES if sample.name == name).split()
    assert text[: len(text) // 2] == text[len(text) // 2 :]


# ------------------------------------------------------------------ other files


def test_samples_are_read_in_their_order(tmp_path):
    other = {**GOOD, "name": "another", "shows": None}
    found = read_samples(written(tmp_path, [GOOD, other]))
    assert [(sample.name, sample.shows) for sample in found] == [
        ("a name", "induction"),
        ("another", None),
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", r"samples\.json must be a list of sample texts: Expecting"),
        ({}, "it must hold a list; it holds dict"),
        ([3], "a sample must have name, text, look_for, shows; got 3"),
        ([{**GOOD, "more": 1}], "a sample must have name, text, look_for, shows; got"),
        ([{"name": "a"}], "a sample must have name, text, look_for, shows; got"),
        ([{**GOOD, "text": 3}], "text of a sample must be a text; got 3"),
        ([{**GOOD, "name": " "}], "name of a sample must be a text; got ' '"),
        ([{**GOOD, "look_for": "stripes"}], "look_for must be a sentence; got 'stripes'"),
        (
            [{**GOOD, "shows": "L1H3"}],
            "shows must be null or one of previous_token, .*; got 'L1H3'",
        ),
        ([{**GOOD, "shows": ["x"]}], "shows must be null or one of"),
        ([], "must hold samples of different names"),
        ([GOOD, GOOD], r"must hold samples of different names; got \['a name'\]"),
    ],
)
@pytest.mark.usefixtures("as_in_use")
def test_broken_file_is_one_sentence(tmp_path, content, sentence):
    with pytest.raises(ConfigError, match=sentence) as error:
        read_samples(written(tmp_path, content))
    assert str(error.value).startswith("samples.json must")


def test_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.json must be a list of sample texts: .*No such"):
        read_samples(tmp_path / "none.json")
