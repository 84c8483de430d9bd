from dataclasses import replace
from xml.etree import ElementTree

import pytest

from attention.benchmark import BenchmarkSettings, environment
from attention.benchmark.chart import HEIGHT, WIDTH, WRONG, _ticks, to_svg
from attention.benchmark.imported import Run
from attention.benchmark.measurement import Measurement
from attention.benchmark.summary import rows

SVG = "{http://www.w3.org/2000/svg}"
SETTINGS = BenchmarkSettings(heads=(1, 3), d_out=15, threads=1)


def point(name, num_heads, ms, **changes):
    return Measurement(
        implementation=name, num_heads=num_heads, head_dim=15 // num_heads, d_out=15,
        **({"samples": (ms,), "equal": True} | changes),
    )  # fmt: skip


def drawn(*found, other=None):
    return ElementTree.fromstring(to_svg(SETTINGS, rows(found), other))


def dots(svg):
    return [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter(f"{SVG}circle")]


def test_higher_times_are_higher_and_more_heads_further_right():
    (x1, y1), (x3, y3) = dots(drawn(point("looped", 1, 1.0), point("looped", 3, 2.0)))
    assert 0 < x1 < x3 < WIDTH
    assert HEIGHT > y1 > y3 > 0


def test_disturbed_point_is_hollow_and_failed_one_is_missing():
    busy = point("looped", 1, 1.0, disturbed="busy")
    svg = drawn(busy, point("batched", 1, 1.0), point("looped", 3, 0, samples=(), error="Lost."))
    assert [c.get("fill") for c in svg.iter(f"{SVG}circle")] == ["#FFFFFF", "#0072B2"]


def test_limit_and_another_run_are_told_apart_by_their_dashes():
    lab = replace(environment(SETTINGS), device="cuda:0", device_title="NVIDIA <H200>")
    other = Run(SETTINGS, lab, (point("looped", 1, 0.5), point("looped", 3, 0.7)))
    svg = drawn(point("looped", 1, 1.0, least_ms=0.25), other=other)
    assert {line.get("stroke-dasharray") for line in svg.iter(f"{SVG}polyline")} == {
        None, "8 4", "2 4",
    }  # fmt: skip
    said = [text.text for text in svg.iter(f"{SVG}text")]
    assert {"Loop", "limit: plain matrix products", "dotted: NVIDIA <H200>, float32"} <= set(said)


def test_nothing_measured_is_still_a_picture():
    assert dots(drawn()) == []


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (16.8, [0, 5, 10, 15]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.037, [0, 0.01, 0.02, 0.03]),
        (1234.0, [0, 250, 500, 750, 1000]),
    ],
)
def test_ticks_are_round_and_few(most, ticks):
    assert _ticks(most) == pytest.approx(ticks)


def test_what_has_no_time_is_named_as_failed_or_not_possible():
    nothing = {"samples": (), "equal": None, "least_ms": None, "error": "So it is."}
    found = (
        point("sdpa", 3, 0, **nothing, impossible=True),  # first, and without a limit
        point("sdpa", 1, 0, **nothing, impossible=True),
        point("batched", 3, 0, **(nothing | {"equal": False})),
        point("looped", 3, 1.0, least_ms=0.5),
    )
    settings = replace(SETTINGS, implementations=("sdpa", "batched", "looped"))
    svg = ElementTree.fromstring(to_svg(settings, rows(found)))
    said = {text.text: text.get("fill") for text in svg.iter(f"{SVG}text")}
    assert said["×"] == WRONG
    assert "Batch: failed at 3 heads" in said
    assert "SDPA: not possible at 1, 3 heads" in said
    assert "limit: plain matrix products" in said


@pytest.mark.parametrize(
    ("passes", "unit"), [("forward", "forward pass"), ("decode", "decode step")]
)
def test_axis_says_what_is_timed(passes, unit):
    assert f"ms per {unit}<" in to_svg(replace(SETTINGS, passes=passes), [])
