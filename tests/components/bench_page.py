"""The Loop vs batch page under AppTest, with workers that measure nothing."""

import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.components.bench_builders import FakeWorker, point

APP = Path(__file__).parents[2] / "app.py"
LIMIT_S = 60


class Workers(list):
    """The workers that the session's job starts; each answers at once while the gate is open."""

    open_gate = True
    make = staticmethod(point)

    def start(self, allocator):
        worker = FakeWorker(allocator, open_gate=self.open_gate)
        worker.make = self.make
        self.append(worker)
        return worker


def open_page(**query):
    page = AppTest.from_file(str(APP), default_timeout=LIMIT_S)
    page.query_params["view"] = "loop-vs-batch"
    for name, value in query.items():
        page.query_params[name] = str(value)
    return page.run()


def measured(page):
    """Run until nothing more is measured; a browser does so by itself."""
    deadline = time.monotonic() + LIMIT_S
    while not page.button(key="bench_stop").disabled:
        assert time.monotonic() < deadline, "waited too long"
        page.run()
    assert not page.exception
    return page


def table(page):
    return page.dataframe[0].value


def words(page):
    elements = (*page.markdown, *page.caption, *page.info, *page.warning)
    return " ".join(element.value for element in elements).replace("\\", "")
