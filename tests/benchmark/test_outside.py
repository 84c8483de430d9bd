from attention.benchmark.outside import killed_for_memory


def test_processes_killed_for_memory_are_counted(tmp_path):
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("pgfault 9\noom_kill 3\nswap_ra 0\n", encoding="ascii")
    assert killed_for_memory(vmstat) == 3


def test_system_that_does_not_count_them_is_none(tmp_path):
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("pgfault 9\n", encoding="ascii")
    assert killed_for_memory(vmstat) is None
    assert killed_for_memory(tmp_path / "missing") is None
