from attention.benchmark import BenchmarkSettings
from attention.benchmark.explain import letters, steps
from attention.benchmark.work import Sizes, work
from attention.implementations import IMPLEMENTATIONS


def settings(**changes):
    values = {"heads": (3,), "d_out": 15, "d_in": 7, "seq_len": 11, "batch": 2}
    return BenchmarkSettings(**(values | changes))


def test_formula_and_number_stand_side_by_side():
    first, *_ = steps(settings(implementations=("batched",)), 3)
    assert str(first) == (
        "Batch, q, k, v: 2·B·T·d_in·(H + 2·K)·d = 13.9 kFLOP; "
        "4·(3·B·T·d_in + d_in·(H + 2·K)·d + B·T·(H + 2·K)·d) = 7.07 kB"
    )


def test_steps_add_up_to_the_point():
    asked = settings(implementations=("looped", "sdpa"), passes="backward")
    found = steps(asked, 3)
    for name in asked.implementations:
        own = [step for step in found if step.implementation == IMPLEMENTATIONS[name].title]
        done = work(Sizes.of(asked, 3), IMPLEMENTATIONS[name])
        assert sum(step.flops for step in own) == done.flops
        assert sum(step.bytes for step in own) == done.bytes
        assert own[0].flops_formula.startswith("3·2·B·T")


def test_letters_say_what_is_computed():
    assert letters(settings(), 3) == (
        "B sequences of T tokens, H heads and K kv heads of d features: B = 2, T = 11, H = 3, "
        "K = 3, d = 5, d_in = 7, d_model = 15, 4 bytes a number"
    )
    decode = letters(settings(passes="decode"), 3)
    assert decode.startswith("B sequences of 1 token after T, ")
