"""All layers × heads as cells of a byte each: what the map on the page shows, and says in words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attention.errors import ConfigError
from components.looks import GAP, HIGHEST, LOWEST, MASKED, Look, Weights, packed
from components.sentences import short
from components.theme import Ink, lookup

NO_HABIT, NOT_YET = "no clear habit", "not looked at yet"
SPOKEN = 10  # heads that the description names
WIDEST = 720  # px of the plain picture, about
EDGE, DOT = 16, 2  # px on its left and above, for the numbers; and of a dot in them
_STROKES = {  # the dots of each digit, a row of three a figure
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711",
    "5": "74717", "6": "74757", "7": "71244", "8": "75757", "9": "75717",
}  # fmt: skip

Best = tuple[str, float]  # a metric's name in words, and the score


@dataclass(frozen=True, eq=False)
class Overview:
    """All heads of a run, or those that have been looked at so far.

    Attributes:
        thumbnails: (layer, head, side, side), NaN where nothing is shown; of layers that are not
            `done` it may be anything.
        tags: what each head does, [layer][head]; empty text where nothing is clear. An empty row
            says that it is not known yet, and no rows at all that of no layer it is.
        best: each head's highest score, [layer][head], which is named where there is no tag.
        done: the layers that are there; None for all.
        run: whatever tells this run from others; the map carries it once it is painted.
    """

    thumbnails: Weights
    tags: Sequence[Sequence[str]] = ()
    best: Sequence[Sequence[Best | None]] = ()
    done: Collection[int] | None = None
    run: str = ""

    def __post_init__(self) -> None:
        """Refuse what does not fit together.

        Raises:
            ConfigError: when shapes, tags, scores or layers disagree.
        """
        shape = self.thumbnails.shape
        if len(shape) != 4 or shape[2] != shape[3] or 0 in shape:
            raise ConfigError(f"thumbnails must be (layer, head, side, side); got {shape}.")
        for name, rows in (("tags", self.tags), ("best", self.best)):
            lengths = [len(row) for row in rows]
            if rows and (len(rows) != shape[0] or not {*lengths} <= {0, shape[1]}):
                raise ConfigError(
                    f"{name} must be {shape[0]} rows of {shape[1]} or of none; got {lengths}."
                )
        if self.done is not None and not all(0 <= layer < shape[0] for layer in self.done):
            raise ConfigError(f"done must be layers from 0 to {shape[0] - 1}; got {self.done}.")

    @property
    def layers(self) -> list[int]:
        """The layers that are there, in order."""
        return list(range(len(self.thumbnails))) if self.done is None else sorted({*self.done})

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, and heads in each."""
        return self.thumbnails.shape[0], self.thumbnails.shape[1]

    def words(self, layer: int, head: int) -> str:
        """What a head does, as far as it is known: "induction .94"."""
        if layer not in self.layers:
            return NOT_YET
        if not self._tag(layer):
            return ""
        best = self._best(layer, head)
        most = f"; most: {best[0]} {short(best[1])}" if best else ""
        return self.tags[layer][head] or NO_HABIT + most

    def ranked(self) -> list[tuple[int, int]]:
        """Heads of which something is known: clear habits first, and the highest scores first."""
        known = [layer for layer in self.layers if self._tag(layer)]
        heads = [(layer, head) for layer in known for head in range(self.shape[1])]
        return sorted(heads, key=lambda at: (not self.tags[at[0]][at[1]], -self._score(*at)))

    def described(self) -> str:
        """The picture in words, for those who cannot see it."""
        layers, heads = self.shape
        said = f"{layers} layers of {heads} heads."
        if missing := layers - len(self.layers):
            said += f" {missing} {'layers are' if missing > 1 else 'layer is'} {NOT_YET}."
        named = [
            f"layer {layer} · head {head}: {self.tags[layer][head]}"
            for layer, head in self.ranked()[:SPOKEN]
            if self.tags[layer][head]
        ]
        if named:
            return f"{said} Clearest habits: {'; '.join(named)}."
        return f"{said} No head has a clear habit." if self.ranked() else said

    def table(self) -> str:
        """All heads as lines of text: head, habit, score, the clearest first."""
        rows = [("head", "habit", "score")]
        for layer, head in self.ranked():
            tag, best = self.tags[layer][head], self._best(layer, head)
            habit, _, score = tag.rpartition(" ")
            if not tag:
                habit = NO_HABIT + (f"; most: {best[0]}" if best else "")
                score = short(best[1]) if best else ""
            rows.append((f"{layer}.{head}", habit, score))
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [
            f"{name:<{widths[0]}}  {habit:<{widths[1]}}  {score}".rstrip()
            for name, habit, score in rows
        ]
        waiting = [str(layer) for layer in range(self.shape[0]) if layer not in self.layers]
        if waiting:
            lines.append(f"{NOT_YET}: layer{'s' * (len(waiting) > 1)} {', '.join(waiting)}")
        return "\n".join(lines)

    def cells(self, look: Look, most: int) -> NDArray[np.uint8]:
        """The layers that are there, a byte a cell: (layer, head, side, side).

        Args:
            look: how weights are shown; all heads share one range.
            most: cells a side, at most. The largest weight of several stands for them.
        """
        shown = self.thumbnails[self.layers]
        return pooled(packed(shown, look, look.top(shown)), most)

    def _tag(self, layer: int) -> Sequence[str]:
        return self.tags[layer] if self.tags else ()

    def _best(self, layer: int, head: int) -> Best | None:
        return self.best[layer][head] if self.best and self.best[layer] else None

    def _score(self, layer: int, head: int) -> float:
        best = self._best(layer, head)
        if tag := self.tags[layer][head]:
            return float(tag.rpartition(" ")[2])
        return best[1] if best else 0.0


def pooled(cells: NDArray[np.uint8], most: int) -> NDArray[np.uint8]:
    """The highest code of each block of cells, so that there are at most `most` a side."""
    side = cells.shape[-1]
    by = -(-side // most)
    fewer = -(-side // by)
    filled = np.full((*cells.shape[:2], fewer * by, fewer * by), GAP, dtype=np.uint8)
    filled[..., :side, :side] = cells
    found: NDArray[np.uint8] = filled.reshape(
        *cells.shape[:2], fewer, by, fewer, by
    ).max(axis=(3, 5))  # fmt: skip
    return found


def palette(scale: str, ink: Ink) -> NDArray[np.uint8]:
    """Red, green, blue, alpha for each code of a packed cell."""
    colours = np.zeros((HIGHEST + 1, 4), dtype=np.uint8)
    colours[MASKED] = [*_rgb(ink.masked), 255]
    colours[LOWEST:, :3] = lookup(scale, HIGHEST - LOWEST + 1)
    colours[LOWEST:, 3] = 255
    return colours


def _rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def plain_picture(picture: Overview, look: Look, ink: Ink) -> NDArray[np.uint8]:
    """The map as a picture with its numbers: (down, across, 3), red green blue.

    Head h of layer l begins EDGE + l · pitch below the top and EDGE + h · pitch from the left,
    pitch being a tile's side and the pixel beside it. Layers that are not there stay empty.
    """
    layers, heads = picture.shape
    cells = picture.cells(look, max(2, (WIDEST - EDGE) // heads - 1))
    grown = max(1, 24 // cells.shape[-1])
    side = cells.shape[-1] * grown
    pitch = side + 1
    image = np.empty((EDGE + layers * pitch, EDGE + heads * pitch, 3), dtype=np.uint8)
    image[:] = _rgb(ink.page)
    colours = palette(look.scale, ink)[:, :3]
    for layer, row in zip(picture.layers, cells, strict=True):
        for head, tile in enumerate(row):
            top, left = EDGE + layer * pitch, EDGE + head * pitch
            large = tile.repeat(grown, axis=0).repeat(grown, axis=1)
            image[top : top + side, left : left + side] = colours[large]
    for n in range(0, heads, _every(pitch, _width(heads - 1) + 3 * DOT)):
        _write(image, n, 2, EDGE + n * pitch + (side - _width(n)) // 2, ink)
    for n in range(0, layers, _every(pitch, 7 * DOT)):
        _write(image, n, EDGE + n * pitch + (side - 5 * DOT) // 2, EDGE - 1 - _width(n), ink)
    return image


def _every(pitch: int, room: int) -> int:
    """Which numbers are written, so that each has its room."""
    return next(n for n in (1, 2, 5, 10, 20, 50, 1000) if n * pitch >= room)


def _width(number: int) -> int:
    return DOT * (4 * len(str(number)) - 1)


def _write(image: NDArray[np.uint8], number: int, top: int, left: int, ink: Ink) -> None:
    """Write a number, as far as it is within the picture."""
    for place, digit in enumerate(str(number)):
        for down, bits in enumerate(_STROKES[digit]):
            for across in range(3):
                if int(bits) >> (2 - across) & 1:
                    y, x = max(0, top + DOT * down), max(0, left + DOT * (4 * place + across))
                    image[y : y + DOT, x : x + DOT] = _rgb(ink.text)
