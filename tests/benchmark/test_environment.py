from dataclasses import replace

import torch

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.environment import cpu_model


def test_environment_tells_what_decides_a_time():
    under = environment(BenchmarkSettings(heads=(1,), d_out=15, threads=3, allocator="tuned"))
    assert (under.threads, under.dtype, under.device) == (3, "float32", "cpu")
    said = str(under)
    for part in ("3 threads", f"torch {torch.__version__}", "float32", "allocator tuned"):
        assert part in said


def test_clock_is_told():
    under = [environment(BenchmarkSettings(heads=(1,), d_out=15, threads=n)) for n in (1, 2)]
    assert [e.clock for e in under] == ["CPU time", "wall clock"]
    assert "CPU time" in str(under[0])


def test_machine_has_a_short_name():
    under = environment(BenchmarkSettings(heads=(1,), d_out=15, threads=3))
    assert under.name == f"{under.cpu}, 3 threads, float32"
    lab = replace(under, device="cuda:0", device_title="NVIDIA H200", dtype="bfloat16", l2="cold")
    assert lab.name == "NVIDIA H200, bfloat16"
    assert replace(lab, compiled=True).name == "NVIDIA H200, bfloat16, compiled"
    assert "L2 cache cold" in str(lab)


def test_what_measured_the_memory_is_told():
    assert environment(BenchmarkSettings(heads=(1,), d_out=15)).memory_by.startswith("torch.profi")


def test_cpu_is_named_as_its_maker_names_it(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Analytical Engine\n", encoding="utf-8")
    assert cpu_model(cpuinfo) == "Analytical Engine"


def test_cpu_that_is_not_told_still_has_a_name(tmp_path):
    assert cpu_model(tmp_path / "missing")
