"""Click to painted, against an empty Streamlit app's rerun: `python -m tests.bench.peers.clicks`.

The page's clicks and the empty app's take turns in one browser. A time is measured in the page,
from the input event to two animation frames after the last of the pictures is there. The forward
pass within it (after an edit, or with another implementation) is timed in this process: the same
tokens, as many threads, reading on after the same earlier run; it is taken off each time.
`--cases 64:embedded --repeats 5` takes a minute; `--save FILE` keeps every sample.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from playwright.sync_api import Browser, sync_playwright

from attention.loading import load_model
from attention.model import LanguageModel
from tests.bench.peers import figures
from tests.bench.peers.acts import Clicks, Forward, Taken, Timed
from tests.bench.peers.model import gpt2_size
from tests.bench.peers.texts import Text
from tests.bench.peers.watching import Watched
from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS
from tests.browser.server import AppServer

EMPTY, EDIT, TOGGLE, BACK, HEAD, LAYER = (
    *("empty rerun", "edit one word", "other implementation", "implementation before"),
    *("choose head", "choose layer"),
)
ACTIONS = {"edit": EDIT, "toggle": TOGGLE, "head": HEAD, "layer": LAYER}
AIMS = {64: 3.0, 2048: 6.0}  # times an empty rerun, at most
SIZE = {"width": 1280, "height": 800}


def one_round(
    clicks: Clicks, forward: Forward, ways: list[str], wanted: list[str]
) -> dict[str, Taken]:
    """Each action once."""
    found: dict[str, Taken] = {}

    def keep(name: str, painted: float | None, ahead: float = 0.0) -> None:
        found[name] = Taken(painted, ahead, clicks.watched.parts)

    if EDIT in wanted:
        keep(EDIT, clicks.edit(), forward.ms(ways[0], anew=False))
    if HEAD in wanted:
        keep(HEAD, clicks.choose(0, 1))
    if LAYER in wanted:
        keep(LAYER, clicks.choose(1, 0))
    if TOGGLE in wanted:
        keep(TOGGLE, clicks.toggle(ways[1]), forward.ms(ways[1], anew=True))
        keep(BACK, clicks.toggle(ways[0]))
    return found


def again(empty: Watched) -> Taken:
    """The empty app's rerun."""
    button = empty.page.locator(".st-key-again button")
    empty.arm("pointerdown", ["answer"])
    button.click()
    painted = empty.painted()
    empty.settle()
    return Taken(painted)


def case(
    browser: Browser, url: str, empty: Watched, model: LanguageModel, options: "Options"
) -> dict[str, Timed]:
    """All actions on one text, and the empty rerun, in turns."""
    text = Text(model, options.length)
    context = browser.new_context(viewport=SIZE, service_workers="block")
    watched = Watched(context.new_page(), options.limit)
    found: dict[str, Timed] = {}
    ways = options.ways.split(",")
    try:
        watched.open(f"{url}/?model={options.source}&implementation={ways[0]}&layer=1")
        clicks, forward = Clicks(watched, text, options.at), Forward(model, text)
        clicks.begin()
        forward.ms(ways[0], anew=False)
        for turn in range(options.repeats + 1):
            taken = one_round(clicks, forward, ways, options.wanted)
            taken[EMPTY] = again(empty)
            for name, sample in taken.items():
                if turn:  # the first round warms up
                    found.setdefault(name, Timed()).add(sample)
    finally:
        context.close()
    return found


@dataclass(frozen=True)
class Options:
    """What is asked for.

    Attributes:
        source: the model, as `load_model` takes it.
        length: tokens.
        wanted: names of actions.
        repeats: samples of each.
        ways: the implementation, and the other one, by comma.
        at: the share of the text after which a word is changed.
        limit: seconds, after which an action is given up.
    """

    source: str
    length: int
    wanted: list[str]
    repeats: int
    ways: str
    at: float
    limit: float


def report(length: int, name: str, found: dict[str, Timed]) -> list[list[str]]:
    """Rows of the table; says whether the aim is met."""
    empty = figures.percentile(found[EMPTY].painted, 50)
    rows = []
    for action, timed in found.items():
        p50, p90 = (figures.percentile(timed.painted, share) for share in (50, 90))
        forward = figures.percentile(timed.forward, 50)
        net = figures.percentile(timed.net, 50)
        ratio = figures.times_as_much(empty, net)
        aim = AIMS.get(length)
        met = None if ratio is None or aim is None else ratio <= aim
        rows.append(
            [
                *(f"{length:,}", name, action),
                *(figures.milliseconds(value) for value in (p50, p90, forward or None)),
                figures.times(ratio),
                "" if action == EMPTY or met is None else f"{aim:g}×: {figures.verdict(met)}",
            ]
        )
        if missing := timed.painted.count(None):
            rows[-1][2] += f" ({missing} of {len(timed.painted)} never painted)"
    return rows


HEADER = ["T", "model", "action", "p50", "p90", "forward in it", "rest, of an empty rerun", "aim"]


@click.command()
@click.option("--cases", default="64:embedded,64:gpt2,2048:gpt2", show_default=True)
@click.option("--actions", default=",".join(ACTIONS), show_default=True)
@click.option("--repeats", default=9, show_default=True, help="Samples of each, after one more.")
@click.option("--ways", default="sdpa,looped", show_default=True, help="From which to which.")
@click.option("--at", default=0.5, show_default=True, help="How far into the text the word is.")
@click.option("--limit", default=120.0, show_default=True, help="Seconds; more is given up.")
@click.option("--save", type=click.Path(path_type=Path), help="A file for all samples.")
def main(
    cases: str, actions: str, repeats: int, ways: str, at: float, limit: float, save: Path | None
) -> None:
    """Click, measure and print a table."""
    BUILD.mkdir(exist_ok=True)
    threads = max(1, torch.get_num_threads() // 2)  # as the page
    torch.set_num_threads(threads)
    wanted = [ACTIONS[name] for name in actions.split(",")]
    app = AppServer(BUILD / "clicks-app.log")
    blank = AppServer(BUILD / "clicks-empty.log", script="tests/bench/peers/empty_app.py")
    kept, rows = {}, []
    try:
        app.start()
        blank.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            click.echo(f"{figures.machine(threads)}; Chromium {browser.version}\n")
            empty = Watched(browser.new_page(viewport=SIZE), limit)
            empty.open(blank.url)
            for one in cases.split(","):
                length, _, name = one.partition(":")
                source = str(gpt2_size()) if name == "gpt2" else name
                options = Options(source, int(length), wanted, repeats, ways, at, limit)
                found = case(browser, app.url, empty, load_model(source), options)
                rows += report(int(length), name, found)
                kept[one] = {action: vars(timed) for action, timed in found.items()}
                if save is not None:
                    save.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            browser.close()
    finally:
        app.stop()
        blank.stop()
    click.echo(figures.table(HEADER, rows))


if __name__ == "__main__":
    main()
