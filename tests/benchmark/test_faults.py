import mmap
import sys

import pytest

from attention.benchmark.faults import page_faults

PAGE = mmap.PAGESIZE


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell")
def test_memory_that_is_handed_out_anew_is_counted_by_the_page():
    pages = 1000

    def touch():
        with mmap.mmap(-1, pages * PAGE) as memory:
            for i in range(pages):
                memory[i * PAGE] = 1

    # A huge page holds 512 small ones, where the system uses such.
    assert page_faults(touch) >= pages // 512
    assert page_faults(touch) < 3 * pages


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell")
def test_memory_that_is_kept_is_not_counted():
    with mmap.mmap(-1, 1000 * PAGE) as memory:

        def touch():
            for i in range(1000):
                memory[i * PAGE] = 1

        assert page_faults(touch) < 100


def test_system_that_does_not_tell_gives_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert page_faults(lambda: None) is None
