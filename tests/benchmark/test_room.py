import pytest

from attention.benchmark import BenchmarkSettings, room
from attention.benchmark.room import (
    checked_tokens,
    free_memory,
    has_room_for_products,
    require_room,
    require_room_for,
)
from attention.errors import DeviceError


def settings(**changes):
    values = {"heads": (4,), "d_out": 16, "seq_len": 8192, "threads": 2}
    return BenchmarkSettings(**(values | changes))


@pytest.fixture
def free(monkeypatch):
    def have(amount):
        monkeypatch.setattr(room, "free_memory", lambda: amount)

    return have


def test_free_memory_is_read(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 99 kB\nMemAvailable:     17 kB\n", encoding="ascii")
    assert free_memory(meminfo) == 17 * 1024
    assert free_memory(tmp_path / "missing") is None


def test_what_nobody_can_tell_is_not_refused(free):
    free(None)
    require_room(settings(), 4)
    require_room_for("batched", settings(), 4)
    assert checked_tokens(settings(), 4) == 8192
    assert has_room_for_products(settings(), 4)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        # Weights were left out of the sum: the system ended the process instead.
        (
            {"d_out": 100_000, "seq_len": 1},
            "a layer 100000 wide with 4 heads, seq_len 1; it needs",
        ),
        ({"batch": 100_000}, "with 4 heads, seq_len 8192, batch 100000; it needs about"),
        ({"passes": "decode", "seq_len": 1 << 20}, "4 heads, seq_len 1048576; it needs about"),
    ],
)
def test_layer_that_does_not_fit_is_refused_with_the_number(free, changes, said):
    free(1_000_000_000)
    with pytest.raises(DeviceError, match="memory must be enough") as told:
        require_room(settings(**changes), 4)
    assert said in str(told.value)
    assert "1.00 GB are free" in str(told.value)


def test_decoding_after_a_long_text_needs_no_square_of_it(free):
    free(1_000_000_000)  # the squares of 4 heads and 8,192 tokens would take 9 GB
    require_room(settings(passes="decode"), 4)


@pytest.mark.parametrize(
    ("amount", "tokens"),
    [(1 << 40, 8192), (8 << 30, 1024), (100_000_000, 256), (1_000_000, 32), (1000, 16)],
)
def test_as_much_is_checked_as_fits(free, amount, tokens):
    free(amount)
    assert checked_tokens(settings(), 4) == tokens


def test_short_text_is_never_checked_in_part_beyond_its_end(free):
    free(10)
    assert checked_tokens(settings(seq_len=11), 4) == 11


@pytest.mark.parametrize(
    ("name", "passes", "squares"),
    [
        ("batched", "forward", 12),
        ("looped", "forward", 3),  # one head after the other
        ("threads", "forward", 6),
        ("looped", "backward", 16),  # all are kept for the way back
        ("sdpa", "backward", 0),
        ("capture", "forward", 0),
        ("capture", "backward", 16),
    ],
)
def test_what_an_implementation_keeps_decides_whether_it_fits(free, name, passes, squares):
    cells = 8192**2
    needed = 4 * squares * cells + (2 * cells if squares else 0)
    free(needed)
    require_room_for(name, settings(passes=passes), 4)
    if squares:
        free(needed - 1)
        with pytest.raises(DeviceError, match="patterns of 4 heads at 8192 tokens"):
            require_room_for(name, settings(passes=passes), 4)


def test_plain_products_write_whole_squares(free):
    free(4 * 4 * 8192**2)
    assert has_room_for_products(settings(), 4)
    free(4 * 4 * 8192**2 - 1)
    assert not has_room_for_products(settings(), 4)
