from components.figures.quantities import QUANTITIES, offered
from tests.components.bench_builders import point, settings


def test_kernels_are_offered_on_a_gpu_only():
    assert "kernels" not in offered(settings())
    assert offered(settings(device="cuda:0")) == list(QUANTITIES)


def test_what_failed_has_no_figure():
    lost = point(settings(), "looped", 2, samples=(), equal=None, error="memory must be enough.")
    assert [entry.value(lost) for entry in QUANTITIES.values()] == [None] * len(QUANTITIES)


def test_axis_says_which_passes():
    both = settings(passes="backward")
    assert QUANTITIES["operators"].axis(both) == "operators per forward and backward pass"
    assert "per" not in QUANTITIES["share"].axis(both)


def test_axis_of_a_decode_step():
    assert QUANTITIES["time"].axis(settings(passes="decode")) == "ms per decode step"
