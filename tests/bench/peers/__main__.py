"""Everything against the peers, in turn: `make bench-peers`.

`make bench-peers ARGS="runs clicks"` runs some, `ARGS="--quick"` the least of each in minutes;
`--write` puts each part's tables into docs/peers.md in place of the ones before.
"""

import re
import subprocess
import sys
from pathlib import Path

import click

from tests.browser.server import ROOT

DOCUMENT = ROOT / "docs" / "peers.md"
PARTS = {
    "runs": "tests.bench.peers.runs",
    "drawings": "tests.bench.peers.drawings",
    "start": "tests.bench.first_heatmap",
    "clicks": "tests.bench.peers.clicks",
}
QUICK = {
    "runs": ["--lengths", "64"],
    "drawings": ["--lengths", "32", "--ours", "", "--repeats", "1"],
    "start": [],
    "clicks": ["--cases", "64:embedded", "--repeats", "3"],
}


def put(document: str, part: str, told: str) -> str:
    """The document with what a part says now, between its two marks.

    Raises:
        click.ClickException: when the marks are not there.
    """
    begin, end = f"<!-- {part}: measured -->", f"<!-- {part}: end -->"
    found = re.search(f"{re.escape(begin)}.*?{re.escape(end)}", document, re.DOTALL)
    if found is None:
        raise click.ClickException(f"{DOCUMENT.name} must hold {begin} and {end}; it does not.")
    new = f"{begin}\n{told.strip()}\n{end}"
    return document[: found.start()] + new + document[found.end() :]


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS]))
@click.option("--quick", is_flag=True, help="The least of each, to see that it works.")
@click.option("--write", is_flag=True, help="Put the tables into docs/peers.md.")
def main(parts: tuple[str, ...], *, quick: bool, write: bool) -> None:
    """Run the parts, all of them unless some are named, and print their tables."""
    for part in parts or PARTS:
        click.echo(f"{part} …", err=True)
        command = [sys.executable, "-m", PARTS[part], *(QUICK[part] if quick else [])]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        click.echo(done.stdout)
        if write:
            _write(DOCUMENT, part, done.stdout)


def _write(path: Path, part: str, told: str) -> None:
    path.write_text(put(path.read_text(encoding="utf-8"), part, told), encoding="utf-8")


if __name__ == "__main__":
    main()
