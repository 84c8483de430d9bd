import pytest

from components.jobs import Progress
from components.parts.bench_results import shape_words, work_words
from tests.components.bench_builders import settings


def test_shapes_with_the_total_given():
    assert shape_words(settings(d_out=48, d_in=7), 4) == (
        "d_out 48 is the total: 4 heads of head_dim 48 / 4 = 12. Input (1, 11, 7); "
        "W_query of the loop 4 × (12, 7), of the batch (48, 7), W_O (48, 48); output (1, 11, 48)."
    )


def test_shapes_with_the_width_of_each_head_given():
    assert shape_words(settings(d_out=None, d_out_per_head=5, d_in=7), 3) == (
        "d_out 5 is each head's: 3 heads make 3 × 5 = 15. Input (1, 11, 7); "
        "W_query of the loop 3 × (5, 7), of the batch (15, 7), no W_O; output (1, 11, 15)."
    )


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (Progress(), ""),
        (Progress(running=True, now=1, done=0, of=4), "Measuring 1 head: 0 of 4 head counts done"),
        (
            Progress(running=True, now=8, done=3, of=4, seconds_left=2.4),
            "Measuring 8 heads: 3 of 4 head counts done, about 2 s left",
        ),
        (Progress(running=True, waiting=True), "Another benchmark is measuring"),
        (Progress(stopped=True), "Stopped. "),
    ],
)
def test_work_is_told_in_words(progress, said):
    assert work_words(progress).startswith(said)


def test_shapes_of_a_decode_step_are_those_of_one_token():
    said = shape_words(settings(d_out=48, d_in=7, passes="decode"), 4)
    assert "Input (1, 1, 7), 1 token after 11; W_query" in said
    assert said.endswith("output (1, 1, 48).")
