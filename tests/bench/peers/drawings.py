"""Text to painted heads, against BertViz and CircuitsVis.

`python -m tests.bench.peers.drawings` (in .venv-peers). Peers get random causal patterns that are
in memory, write their page of them, and Chromium draws it from this machine; the time is of both.
Ours is the app on a model of GPT-2's size: from Enter after a new text until the pictures are
there, the model's forward pass included. What a page asks of other machines fails; BertViz, which
then shows nothing, is given its libraries from here.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from playwright.sync_api import sync_playwright

from tests.bench.peers import figures
from tests.bench.peers.libraries import libraries
from tests.bench.peers.model import gpt2_size
from tests.bench.peers.pages import SIZE, Drawn, Launch, Ours, draw_peer
from tests.bench.peers.patterns import MAKERS
from tests.bench.peers.runs import GaveUpError
from tests.browser.chromium import find_chromium
from tests.browser.conftest import BUILD, FLAGS
from tests.browser.server import AppServer

OURS = "Headscope"
HEADS_A_LAYER = 12
LONG_MS = 15_000  # what takes longer is drawn once
SMALLER, SECOND = 1 / 50, 1_000.0  # the aims
Key = tuple[int, int, str]  # heads, tokens, tool
Found = Drawn | str  # or why there is none


@dataclass(frozen=True)
class Options:
    """What is asked for: see `main`."""

    repeats: int
    limit: float
    scripts: dict[str, Path]


def drawn_by_peers(
    launch: Launch, point: tuple[int, int], tools: list[str], options: Options
) -> dict[Key, Found]:
    """Every peer at one number of heads and tokens."""
    heads, length = point
    shape = (heads // HEADS_A_LAYER, HEADS_A_LAYER, length)
    found: dict[Key, Found] = {}
    for tool in tools:
        samples: list[Drawn] = []
        try:
            for _ in range(options.repeats):
                samples.append(
                    draw_peer(launch, tool, shape, limit=options.limit, scripts=options.scripts)
                )
                if samples[-1].ms > LONG_MS:
                    break
        except GaveUpError as error:
            found[heads, length, tool] = str(error)
            continue
        found[heads, length, tool] = middle(samples)
    return found


def drawn_by_us(ours: Ours, length: int, repeats: int) -> dict[Key, Found]:
    """Both numbers of heads come from one text."""
    samples: list[dict[int, Drawn]] = []
    try:
        for _ in range(repeats):
            samples.append(ours.draw(length))
            if samples[-1][144].ms > LONG_MS:
                break
    except GaveUpError as error:
        return {(heads, length, OURS): str(error) for heads in (12, 144)}
    return {(heads, length, OURS): middle([s[heads] for s in samples]) for heads in (12, 144)}


def middle(samples: list[Drawn]) -> Drawn:
    """The one with the median time."""
    return sorted(samples, key=lambda drawn: drawn.ms)[(len(samples) - 1) // 2]


def rows(found: dict[Key, Found]) -> list[list[str]]:
    """Of the table, sorted by heads and tokens."""
    made = []
    titles = {OURS: OURS, **{tool: title for tool, (title, _) in MAKERS.items()}}
    for (heads, length, tool), drawn in sorted(found.items(), key=lambda item: item[0][:2]):
        told = [f"{heads}", f"{length:,}", titles[tool]]
        if isinstance(drawn, str):
            made.append([*told, drawn, "", ""])
        else:
            size = [figures.megabytes(drawn.sent), f"{drawn.nodes:,}"]
            made.append([*told, figures.milliseconds(drawn.ms), *size])
    return made


def aims(found: dict[Key, Found]) -> list[str]:
    """Whether they are met, a line each."""
    said = []
    ours = _ms(found.get((12, 256, OURS)))
    views = [_ms(found.get((12, 256, tool))) for tool in ("head_view", "model_view")]
    quickest = min((ms for ms in views if ms is not None), default=None)
    share = figures.times_as_much(quickest, ours)
    met = None if share is None else share <= SMALLER
    told = "" if not share else f"1/{1 / share:.0f} of BertViz's quicker view: "
    said.append(f"- (b) 12 heads, T = 256: {told}{figures.verdict(met)}")
    all_heads = _ms(found.get((144, 128, OURS)))
    met = None if all_heads is None else all_heads < SECOND
    said.append(
        f"- (b) 144 heads, T = 128: {figures.milliseconds(all_heads)}: {figures.verdict(met)}"
    )
    return said


def _ms(found: Found | None) -> float | None:
    return found.ms if isinstance(found, Drawn) else None


def without_network(launch: Launch, limit: float) -> list[str]:
    """What each peer shows with the network cable out, in words."""
    said = []
    for tool, (title, _) in MAKERS.items():
        try:
            drawn = draw_peer(launch, tool, (1, 2, 8), limit=limit)
            said.append(f"- {title} without network: drawn, {drawn.nodes:,} elements")
        except GaveUpError as error:
            said.append(f"- {title} without network: {error}")
    return said


HEADER = ["heads", "T", "tool", "asked for to painted", "sent", "elements"]


@click.command()
@click.option("--lengths", default="32,64,128,256,512", show_default=True)
@click.option("--ours", default="1024,2048,4096,8192", show_default=True, help="Ours alone.")
@click.option("--heads", default="12,144", show_default=True)
@click.option("--tools", default=",".join(MAKERS), show_default=True)
@click.option("--repeats", default=5, show_default=True)
@click.option("--limit", default=120.0, show_default=True, help="Seconds; more is given up.")
def main(lengths: str, ours: str, heads: str, tools: str, repeats: int, limit: float) -> None:
    """Draw, measure and print a table."""
    BUILD.mkdir(exist_ok=True)
    options = Options(repeats, limit, libraries())
    app = AppServer(BUILD / "drawings-app.log")
    found: dict[Key, Found] = {}
    try:
        app.start()
        with sync_playwright() as playwright:
            launch = partial(
                playwright.chromium.launch, executable_path=find_chromium(), args=FLAGS
            )
            browser = launch()
            click.echo(f"{figures.machine()}; Chromium {browser.version}\n")
            said = without_network(launch, 10.0)
            page = browser.new_page(viewport=SIZE)
            ourselves = Ours(page, app.url, gpt2_size(), limit)
            ourselves.draw(16)
            for length in _numbers(lengths):
                found |= _shown(drawn_by_us(ourselves, length, repeats))
                for count in _numbers(heads):
                    wanted = [tool for tool in tools.split(",") if tool]
                    found |= _shown(drawn_by_peers(launch, (count, length), wanted, options))
            for length in _numbers(ours):
                found |= _shown(drawn_by_us(ourselves, length, min(2, repeats)))
            browser.close()
    finally:
        app.stop()
    click.echo(figures.table(HEADER, rows(found)))
    click.echo("\n" + "\n".join([*aims(found), *said]))


def _numbers(listed: str) -> list[int]:
    return [int(number) for number in listed.split(",") if number]


def _shown(found: dict[Key, Found]) -> dict[Key, Found]:
    for row in rows(found):
        click.echo("  ".join(row), err=True)
    return found


if __name__ == "__main__":
    main()
