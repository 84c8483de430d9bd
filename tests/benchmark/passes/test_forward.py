import torch

from attention.benchmark import BenchmarkSettings
from attention.benchmark.layer import build, prepare


def test_timed_forward_pass_makes_no_gradients():
    settings = BenchmarkSettings(heads=(3,), d_out=15, d_in=7, seq_len=11, batch=2)
    prepared = prepare(settings, 3)
    ready = prepared.ready(build(prepared, "looped"))
    with torch.inference_mode():  # as the timer calls it
        out = ready.run()
    assert not out.requires_grad
    assert ready.read(out).out.shape == (2, 11, 15)
