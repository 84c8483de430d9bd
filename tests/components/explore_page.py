"""Explore under AppTest: opening it, and reading off what it shows."""

import json
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "app.py"
LIMIT_S = 60.0


def open_page(**query):
    page = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = str(value)
    page.run()
    assert not page.exception
    return page


def charts(page):
    """The Plotly figures by key, as they are drawn over those that Streamlit holds."""
    return {data["chart"]: json.loads(data["figure"]) for data in components(page, "chart")}


def component(page, name):
    """What a component got, as JSON; of packed bytes the header."""
    return next(components(page, name), None)


def components(page, name):
    """The same of all of that name."""
    for element in page.get("bidi_component"):
        proto = element.proto
        if proto.component_name == f"headscope_{name}":
            if proto.WhichOneof("data") == "bytes":
                length = int.from_bytes(proto.bytes[:4], "little")
                yield json.loads(proto.bytes[4 : 4 + length])
            else:
                yield json.loads(proto.json)


def measured(page):
    """What the strip shows once all of it was measured; a browser asks for it by itself."""
    begun = time.monotonic()
    while not any("patterns" in note.value for note in page.caption):
        assert time.monotonic() - begun < LIMIT_S
        time.sleep(0.4)
        page.run()
    assert not page.exception
    return component(page, "bars")


def said(page):
    return [alert.value.replace("\\", "") for alert in (*page.info, *page.warning, *page.error)]


def typed(page, text):
    page.text_area[0].set_value(text).run()
    assert not page.exception
    return page
