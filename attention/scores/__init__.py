"""What each head does, in numbers: one file and one line a metric."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attention.memory import memory_errors_as_sentences
from attention.model import LanguageModel
from attention.progress import Progress, from_to
from attention.record import RunRecord
from attention.scores import listed
from attention.scores.blocks import together
from attention.scores.current_token import current_token
from attention.scores.duplicate_token import duplicate_token
from attention.scores.entropy import normalised_entropy
from attention.scores.first_token import first_token
from attention.scores.induction import induction
from attention.scores.labels import HeadLabel, best_label
from attention.scores.metric import Metric, share_on
from attention.scores.previous_token import previous_token
from attention.scores.probe import PROBE_LENGTH, repeated_tokens
from attention.scores.reading import one_pass
from attention.scores.share import template_share
from attention.scores.tallies import Tallies

HeadTable = NDArray[np.float64]  # (num_layers, num_heads)

HEAD_METRICS: dict[str, Metric] = {  # the simpler first: it wins a tie between labels
    metric.name: metric
    for metric in (
        Metric(
            "previous_token",
            "Previous token",
            "Mean weight on the token just before.",
            "previous token",
            0.5,
            share_on(previous_token, listed.previous_token),
        ),
        Metric(
            "current_token",
            "Current token",
            "Mean weight on the token itself.",
            "current token",
            0.5,
            share_on(current_token, listed.current_token),
        ),
        Metric(
            "first_token",
            "First token",
            "Mean weight on the first token, where many heads rest.",
            "first token",
            0.5,
            share_on(first_token, listed.first_token),
            is_rest=True,
        ),
        Metric(
            "duplicate_token",
            "Duplicate token",
            "Share of the weight on earlier copies of the same token, if there are any.",
            "duplicate token",
            0.4,
            share_on(duplicate_token, listed.duplicate_token),
        ),
        Metric(
            "induction",
            "Induction",
            "Share of the weight on what came after earlier copies of the token, if there are any.",
            "induction",
            0.4,
            share_on(induction, listed.induction),
        ),
        Metric(
            "entropy",
            "Entropy",
            "How evenly a row is spread: 0 is all on one token, 1 is even over all.",
            "broad",
            0.9,
            normalised_entropy,
        ),
    )
}


def head_scores(record: RunRecord, *, progress: Progress | None = None) -> dict[str, HeadTable]:
    """Every metric of every head on the text of a record, computed in blocks of rows.

    Args:
        record: the run.
        progress: called after each block of rows; what it raises ends the work.

    Returns:
        for each key of HEAD_METRICS a (num_layers, num_heads) array of scores, 0 to 1; NaN
        where the text has no cell that the metric looks at (no repeats, a single token).

    Raises:
        DeviceError: when the record's device has no memory left.
    """
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in HEAD_METRICS}
    with memory_errors_as_sentences(record.layers[0].q.device):
        for layers, heads in together(record, range(record.num_layers)):
            first, after = (layer / record.num_layers for layer in (layers[0], layers[-1] + 1))
            tallies = Tallies(HEAD_METRICS, record.tokens.ids, num_heads=heads.q.shape[0])
            one_pass(heads, tallies, progress=from_to(progress, first, after))
            for name, scores in tallies.scores().items():
                found[name].append(scores)
    shape = (record.num_layers, record.num_heads)
    return {name: np.concatenate(scores).reshape(shape) for name, scores in found.items()}


def label_heads(scores: Mapping[str, HeadTable]) -> list[list[HeadLabel | None]]:
    """What each head mostly does: the metric with the highest score that earns its label.

    A nearly uniform head is only ever "broad": on a short text its weight on any one token is
    large without meaning anything. A head that rests on the first token and does something else
    where it can is called by that. On a single token no head has a label. Of equal scores the
    simpler metric's label wins.

    Args:
        scores: from `head_scores`.

    Returns:
        for each layer, for each head its label with the score, or None.
    """
    layers, heads = next(iter(scores.values())).shape
    return [
        [best_label(HEAD_METRICS, scores, layer, head) for head in range(heads)]
        for layer in range(layers)
    ]


def probe_scores(
    model: LanguageModel, *, length: int = PROBE_LENGTH, seed: int = 0
) -> dict[str, HeadTable]:
    """The scores on repeated random tokens, the usual ground for comparing models.

    Args:
        model: whose heads.
        length: tokens that are repeated once.
        seed: which tokens.

    Returns:
        as `head_scores`.
    """
    return head_scores(model.run(repeated_tokens(model.config, length=length, seed=seed)))


__all__ = [
    "HEAD_METRICS",
    "PROBE_LENGTH",
    "HeadLabel",
    "HeadTable",
    "Metric",
    "head_scores",
    "label_heads",
    "probe_scores",
    "repeated_tokens",
    "template_share",
]
