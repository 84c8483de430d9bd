import pytest

from attention.benchmark.units import in_bytes, in_flops, in_percent


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (3_342_336, "3.34 MB"), (48e9, "48.0 GB")],
)
def test_bytes(count, said):
    assert in_bytes(count) == said


@pytest.mark.parametrize(("rate", "said"), [(1.58e11, "158 GFLOP/s"), (6.7e13, "67.0 TFLOP/s")])
def test_flops(rate, said):
    assert in_flops(rate) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0.0712, "7.1%"), (0.712, "71%"), (1.034, "103%"), (0.0, "0.0%")]
)
def test_shares(share, said):
    assert in_percent(share) == said
