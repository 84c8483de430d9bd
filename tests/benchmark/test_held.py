"""The memory that tensors hold at once."""

import threading

import torch

from attention.benchmark.held import HeldMemory

KIB = 1024


def test_peak_is_the_most_that_was_held_at_once():
    with HeldMemory() as held:
        first, second = torch.ones(KIB), torch.ones(KIB)
        del first, second
        torch.ones(KIB)
    assert held.peak == 2 * 4 * KIB


def test_view_and_what_is_changed_in_place_hold_nothing_of_their_own():
    with HeldMemory() as held:
        one = torch.ones(KIB)
        one.view(32, 32).add_(1.0)
    assert held.peak == 4 * KIB


def test_what_was_there_before_does_not_count():
    kept = torch.ones(100 * KIB)
    with HeldMemory() as held:
        kept.add_(1.0)
        kept.view(100, KIB)
    assert held.peak == 0


def test_threads_that_hold_memory_together_are_added_up():
    both, made = threading.Barrier(2), []

    def work(mode):
        with mode:
            tensor = torch.ones(KIB)
            both.wait()
            made.append(tensor)

    mode = HeldMemory()
    threads = [threading.Thread(target=work, args=(mode,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mode.peak == 2 * 4 * KIB
    assert len(mode.threads) == 2
