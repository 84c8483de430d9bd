import pytest

from components.jobs import BenchmarkJob
from components.parts import bench_results
from tests.components.bench_page import Workers


@pytest.fixture
def workers(monkeypatch):
    started = Workers()
    job = BenchmarkJob(started.start)  # all of AppTest's pages are one session
    monkeypatch.setattr(bench_results, "benchmark_job", lambda: job)
    yield started
    job.close()
