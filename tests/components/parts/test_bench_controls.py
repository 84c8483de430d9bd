import pytest

from components.parts.bench_controls import Asked, valid_counts
from tests.components.bench_builders import settings


def test_counts_of_a_total_are_its_divisors_up_to_the_most():
    assert valid_counts(settings(d_out=48), 16) == (1, 2, 3, 4, 6, 8, 12, 16)


def test_prime_total_has_two_counts():
    assert valid_counts(settings(d_out=7), 16) == (1, 7)
    assert valid_counts(settings(d_out=7), 5) == (1,)


@pytest.mark.parametrize(
    ("most", "last"),
    [(3, (1, 2, 3)), (16, (14, 15, 16)), (28, (20, 24, 28)), (256, (224, 240, 256))],
)
def test_any_count_will_do_for_heads_of_one_width(most, last):
    counts = valid_counts(settings(d_out=None, d_out_per_head=5), most)
    assert counts[0] == 1
    assert counts[-3:] == last


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [({"d_out": 48}, (3, 6, 12)), ({"d_out": None, "d_out_per_head": 5}, (3, 6, 9, 12))],
)
def test_shared_kv_heads_leave_their_multiples(sizes, counts):
    assert valid_counts(settings(heads=(3,), num_kv_heads=3, **sizes), 12) == counts


def test_everything_up_to_the_slider_is_wanted():
    asked = Asked(settings(), (1, 2, 3, 4, 6, 8), 4)
    assert asked.wanted == (1, 2, 3, 4)


def test_sweep_doubles_and_ends_with_the_largest():
    assert Asked(settings(), (1, 2, 3, 4, 6, 8, 12), 1).sweep == (1, 2, 4, 8, 12)
    assert Asked(settings(), (1, 7), 1).sweep == (1, 7)
