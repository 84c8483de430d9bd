from components.figures.timing_hover import hover
from tests.components.bench_builders import point, settings


def test_hover_tells_time_ratio_equality_and_costs():
    said = hover(point(settings(), "looped", 2), 1.5)
    for part in (
        "Loop, 2 heads",
        "of head_dim 24, d_out 48",
        "1.50 ms",
        "3 samples",
        "1.50× the batch",
        "equal to float64",
        "2.0e-07",
        "667 MFLOP/s: 25% of plain matrix products (0.375 ms)",
        "1.00 MFLOP, 2.00 MB moved, by formula",
        "3.00 MB held at once, 20 operators",
    ):
        assert part in said


def test_samples_that_are_left_out_are_told():
    slept = point(settings(), "looped", 2, samples=(1.0, 1.0, 1.0, 1.0, 9_000.0))
    assert "5 samples, 1 left out as far out" in hover(slept)


def test_text_stands_as_it_is():
    said = hover(point(settings(), "looped", 2, disturbed="<b>busy</b>"), place="<i>lab</i>")
    assert "&lt;b&gt;busy&lt;/b&gt;" in said
    assert "&lt;i&gt;lab&lt;/i&gt;" in said


def test_difference_that_nobody_knows_is_left_out():
    # An imported result has null where there was a NaN.
    wrong = {"equal": False, "samples": (), "output_difference": None, "pattern_difference": None}
    assert "NOT EQUAL to float64" in hover(point(settings(), "looped", 2, **wrong))


def test_largest_difference_of_a_gradient_is_told_with_whose_it_is():
    said = hover(point(settings(), "looped", 2, gradient_difference=3e-7, gradient_of="W_K"))
    assert "gradients (W_K, of its largest) 3.0e-07" in said
