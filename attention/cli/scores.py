"""`python -m attention scores`: what each head does on a text."""

import json
import math
from typing import TYPE_CHECKING

import click

from attention.cli.options import ModelChoice, TextChoice, model_options, text_options

if TYPE_CHECKING:
    from attention.scores import HeadLabel, HeadTable

NOT_MEASURED = "–"


@click.command()
@model_options
@text_options
@click.option("--probe", is_flag=True, help="Score on repeated random tokens, not on a text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: scores[metric][layer][head].")
def scores(*, model: ModelChoice, source: TextChoice, probe: bool, as_json: bool) -> None:
    """Score every head from 0 to 1, and name what it mostly does.

    A score that the text cannot show (no word comes twice) is – in the table, null in JSON.
    """
    if probe and source.count:
        raise click.UsageError("give a text or --probe, not both.")
    text = None if probe else source.read()
    from attention.scores import head_scores, label_heads, repeated_tokens

    opened = model.load()
    what = repeated_tokens(opened.config) if text is None else source.tokens(text, opened)
    found = head_scores(opened.run(what))
    labels = label_heads(found)
    if as_json:
        click.echo(json.dumps(as_plain(opened.name, len(what), found, labels), allow_nan=False))
    else:
        click.echo("\n".join(table(found, labels)))


def as_plain(
    name: str,
    seq_len: int,
    found: "dict[str, HeadTable]",
    labels: "list[list[HeadLabel | None]]",
) -> dict[str, object]:
    """What JSON can hold; NaN, which it cannot, becomes null."""
    return {
        "model": name,
        "seq_len": seq_len,
        "scores": {
            metric: [[None if math.isnan(v) else v for v in layer] for layer in values.tolist()]
            for metric, values in found.items()
        },
        "labels": [[head and head.label for head in layer] for layer in labels],
    }


def table(found: "dict[str, HeadTable]", labels: "list[list[HeadLabel | None]]") -> list[str]:
    """One line a head under a line of titles, in columns."""
    from attention.scores import HEAD_METRICS

    titles = ["Layer", "Head", *(HEAD_METRICS[name].title for name in found), "Label"]
    lines = [titles]
    for layer, row in enumerate(labels):
        for head, label in enumerate(row):
            values = [float(found[name][layer, head]) for name in found]
            cells = [NOT_MEASURED if math.isnan(v) else f"{v:.3f}" for v in values]
            lines.append([str(layer), str(head), *cells, label.label if label else ""])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line[:-1], widths, strict=False))
        + ("  " + line[-1]).rstrip()
        for line in lines
    ]
