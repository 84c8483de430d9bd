"""What the bench against peers works out of its samples; the samples themselves are no test's."""

from types import SimpleNamespace

import click
import numpy as np
import pytest
import torch

from tests.bench.peers import clicks, drawings, figures, patterns, runs
from tests.bench.peers.__main__ import PARTS, QUICK, put
from tests.bench.peers.acts import Taken, Timed
from tests.bench.peers.model import ids_of
from tests.bench.peers.pages import Drawn
from tests.bench.peers.runs import Point
from tests.bench.peers.texts import Text
from tests.bench.peers.ways import EAGER, LENS, LENS_ALL, READ, RECORD, SDPA, WAYS


def test_percentiles_are_of_the_samples_that_there_are():
    assert figures.percentile([3.0, None, 1.0, 2.0], 50) == 2.0
    assert figures.percentile([None], 90) is None


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (figures.milliseconds(7.489), "7.49 ms"),
        (figures.milliseconds(999.6), "1 s"),
        (figures.milliseconds(152_300), "152 s"),
        (figures.milliseconds(None), "–"),
        (figures.megabytes(83_200), "0.083 MB"),
        (figures.megabytes(1_056_400_000), "1,056 MB"),
        (figures.times(0.5), "0.5×"),
        (figures.times(1204), "1,204×"),
        (figures.verdict(None), "not measured"),
        (figures.verdict(False), "not met"),
    ],
)
def test_a_figure_is_told_as_a_person_reads_it(made, told):
    assert made == told


def test_the_forward_pass_is_taken_off_each_sample_but_never_more_than_all():
    timed = Timed()
    for painted, forward in ((300.0, 100.0), (None, 100.0), (50.0, 90.0)):
        timed.add(Taken(painted, forward))
    assert timed.net == [200.0, 0.0]


def test_clicks_are_told_in_empty_reruns():
    found = {
        clicks.EDIT: Timed([400.0, 600.0, 500.0], [200.0, 200.0, 200.0]),
        clicks.HEAD: Timed([350.0, None, 350.0], [0.0, 0.0, 0.0]),
        clicks.EMPTY: Timed([100.0, 100.0, 130.0], [0.0, 0.0, 0.0]),
    }
    edit, head, empty = clicks.report(64, "embedded", found)
    assert edit[3:] == ["500 ms", "580 ms", "200 ms", "3.0×", "3×: met"]
    assert head[2] == "choose head (1 of 3 never painted)"
    assert head[5:] == ["–", "3.5×", "3×: not met"]
    assert empty[6:] == ["1.0×", ""]


def test_runs_are_held_against_transformers_with_attentions():
    points = {
        EAGER: Point([9.0, 10.0, 11.0], growth=1e9, apart={"logits": 0.0, "patterns": 0.0}),
        SDPA: Point([5.0], growth=5e8, apart={"logits": 2e-6}),
        LENS_ALL: Point(why="not tried: would need 27 GB"),
        LENS: Point(growth=1e9, first=20.0),
        RECORD: Point([4.0], growth=1e8, apart={"logits": 2e-6, "patterns": 3e-7}),
        READ: Point([6.0], growth=1e8),
    }
    told = runs.rows(1024, points)
    assert told[0][2:] == ["10 ms", "1.0×", "1,000 MB", "1.0×", "0e+00", "0e+00"]
    assert told[1][2:] == ["5 ms", "2.0×", "500 MB", "2.0×", "2e-06", ""]
    assert told[2][2:] == ["not tried: would need 27 GB", "", "–", "", "", ""]
    assert told[3][2:4] == ["20 ms (first run)", "0.5×"]
    record, read = runs.aims(1024, points)
    assert record.endswith("2.5× as fast, 0.100 of the growth: met")
    assert read.endswith("1.7× as fast, 0.100 of the growth: not met")
    assert runs.aims(256, points) == []


def test_what_would_not_fit_is_known_beforehand():
    sizes = (12, 12, 50_257)
    # 144 patterns, 24 of scores and weights on the way, and the logits.
    assert WAYS[EAGER].needed(4096, sizes) == 4 * (168 * 4096**2 + 4096 * 50_257)
    assert WAYS[RECORD].needed(4096, sizes) == 0


@pytest.mark.parametrize("name", ["logits", "patterns"])
@pytest.mark.parametrize("wrong", [1.5, np.nan])
def test_no_time_is_told_of_what_says_something_else(tmp_path, name, wrong):
    right = {"logits": np.ones(3, np.float32), "patterns": np.ones((2, 2), np.float32)}
    points = {EAGER: Point(), READ: Point()}
    for way in points:
        np.savez(tmp_path / f"{way}.npz", **right)
    runs.compare(points, tmp_path)
    assert points[READ].apart == {"logits": 0.0, "patterns": 0.0}
    np.savez(tmp_path / f"{READ}.npz", **{**right, name: np.full_like(right[name], wrong)})
    with pytest.raises(click.ClickException, match=name):
        runs.compare(points, tmp_path)


def test_drawings_are_held_against_the_quicker_view():
    found = {
        (12, 256, drawings.OURS): Drawn(200.0, 100_000, 1300),
        (12, 256, "head_view"): Drawn(20_000.0, 22_000_000, 800_000),
        (12, 256, "model_view"): "not painted after 120 s",
        (144, 128, drawings.OURS): Drawn(1_100.0, 200_000, 1400),
    }
    assert drawings.rows(found)[1] == [
        "12",
        "256",
        "BertViz `head_view`",
        "20 s",
        "22 MB",
        "800,000",
    ]
    few, many = drawings.aims(found)
    assert few.endswith("1/100 of BertViz's quicker view: met")
    assert many.endswith("1.1 s: not met")
    assert drawings.aims({})[1].endswith("not measured")


def test_of_several_drawings_the_one_in_the_middle_is_told():
    drawn = [Drawn(ms, sent, 1) for ms, sent in ((30.0, 3), (10.0, 1), (20.0, 2))]
    assert drawings.middle(drawn) == Drawn(20.0, 2, 1)


def test_random_patterns_are_causal():
    made = patterns.causal(2, 3, 7)
    assert [tuple(layer.shape) for layer in made] == [(1, 3, 7, 7)] * 2
    for layer in made:
        torch.testing.assert_close(layer.sum(dim=-1), torch.ones(1, 3, 7))
        assert not layer.triu(1).any()


def test_one_word_is_changed_where_it_is_told():
    text = Text(SimpleNamespace(tokenizer=None, config=SimpleNamespace(vocab_size=500)), 11)
    before = str(text)
    start, end, word = text.change(text.place(0.5))
    assert before[:start] + word + before[end:] == str(text) != before
    assert len(text.tokens) == 11
    assert ids_of(11, seed=1) != ids_of(11, seed=2)


def test_tables_take_the_place_of_those_before():
    document = "a\n<!-- runs: measured -->\nold\n<!-- runs: end -->\nb\n"
    assert put(document, "runs", "| new |\n") == document.replace("old", "| new |")
    with pytest.raises(click.ClickException, match="clicks: measured"):
        put(document, "clicks", "")


def test_every_part_can_be_tried_quickly():
    assert PARTS.keys() == QUICK.keys()
