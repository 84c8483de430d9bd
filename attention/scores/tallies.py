"""Adds up what metrics find in the blocks of a layer, into one score a head."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention.capture.scan import Scanner, Wanted
from attention.scores.blocks import RowBlock
from attention.scores.entropy import normalised_entropy
from attention.scores.metric import Metric, ShareOn
from attention.scores.places import Places, indices, places_of


class Tallies:
    """The sums of some metrics over the blocks that were seen so far.

    Args:
        metrics: what to measure, by name.
        ids: the text.
        num_heads: of how many heads.
    """

    def __init__(
        self, metrics: Mapping[str, Metric], ids: tuple[int, ...], *, num_heads: int
    ) -> None:
        self.ids, self._metrics = ids, metrics
        self._totals = {name: np.zeros(num_heads) for name in metrics}
        self._counts = dict.fromkeys(metrics, 0)
        self._few: dict[str, Places] = {}
        for name, metric in metrics.items():
            measure = metric.measure
            places = places_of(measure, ids) if isinstance(measure, ShareOn) else None
            if places is not None:
                self._few[name], self._counts[name] = places, places.num_rows

    def add(self, block: RowBlock) -> None:
        """Measure a block; it stays as it is."""
        totals = self._on_few(block)
        for name, metric in self._metrics.items():
            if name not in self._few:
                tally = metric.measure(block)
                totals[name] = tally.total
                self._counts[name] += tally.count
        if totals:
            found = torch.stack([total.to(block.pattern.dtype) for total in totals.values()])
            for name, total in zip(totals, found.cpu().double().numpy(), strict=True):
                self._totals[name] += total

    def _on_few(self, block: RowBlock) -> dict[str, Tensor]:
        """The weights on the cells of all templates that have few, read one by one."""
        if not self._few:
            return {}
        rows = range(len(block.ids) - len(block.queries), len(block.ids))
        flat, lengths = indices(list(self._few.values()), rows)
        chosen = torch.from_numpy(flat).to(block.pattern.device)
        picked = block.pattern.flatten(1).index_select(1, chosen)  # head cell
        parts = picked.split(lengths, dim=1)
        return {name: part.sum(dim=1) for name, part in zip(self._few, parts, strict=True)}

    @property
    def readable(self) -> bool:
        """Whether `take` knows all metrics: templates that have few cells, and the entropy."""
        return all(
            name in self._few or metric.measure is normalised_entropy
            for name, metric in self._metrics.items()
        )

    def wanted(self, *, step: int = 0, hide_first: bool = False) -> Wanted:
        """What the compiled core is to find, so that `take` understands it."""
        starts = np.zeros((len(self._few), len(self.ids) + 1), dtype=np.int64)
        count, keys = 0, [np.empty(0, dtype=np.int32)]
        for row, places in zip(starts, self._few.values(), strict=True):
            row[:] = places.starts + count
            keys.append(places.keys)
            count += len(places.keys)
        return Wanted(starts, np.concatenate(keys), step, hide_first)

    def take(self, scanner: Scanner) -> None:
        """What the compiled core has found in all rows."""
        for name, total in zip(self._few, scanner.totals.T, strict=True):
            self._totals[name] += total
        rows, most = len(self.ids) - 1, np.log(np.arange(2, len(self.ids) + 1))
        for name in self._metrics.keys() - self._few.keys():
            self._totals[name] += (scanner.entropies()[:, 1:] / most).sum(axis=1)
            self._counts[name] += rows

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """For each metric (num_heads,), 0 to 1; NaN where the text has nothing that it looks at."""
        return {
            name: total / self._counts[name] if self._counts[name] else np.full_like(total, np.nan)
            for name, total in self._totals.items()
        }
