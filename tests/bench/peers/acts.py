"""What a reader does on the page, each act timed to the pictures that it is to bring."""

import time
from dataclasses import dataclass, field

from attention.model import LanguageModel
from attention.record import RunRecord
from components import state
from tests.bench.peers.texts import Text
from tests.bench.peers.watching import Watched

TITLES = {"looped": "Loop", "batched": "Batch", "sdpa": "SDPA"}
BOX = '[class*="st-key-text_widget"] textarea >> nth=0'
MAP = ".st-key-overview .map"


@dataclass(frozen=True)
class Taken:
    """One sample, in ms.

    Attributes:
        painted: to the pictures; None if they never came.
        forward: the forward pass in it, alone.
        parts: to each of the pictures.
    """

    painted: float | None
    forward: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class Timed:
    """The samples of one action."""

    painted: list[float | None] = field(default_factory=list)
    forward: list[float] = field(default_factory=list)
    parts: list[dict[str, float]] = field(default_factory=list)

    def add(self, taken: "Taken") -> None:
        self.painted.append(taken.painted)
        self.forward.append(taken.forward)
        self.parts.append(taken.parts)

    @property
    def net(self) -> list[float]:
        """Without the forward pass."""
        pairs = zip(self.painted, self.forward, strict=True)
        return [max(0.0, painted - forward) for painted, forward in pairs if painted is not None]


class Forward:
    """The forward passes that the page makes, made here to be timed.

    Args:
        model: the same weights.
        text: what is typed.
    """

    def __init__(self, model: LanguageModel, text: Text) -> None:
        self.model, self.text = model, text
        self.before: RunRecord | None = None

    def ms(self, way: str, *, anew: bool) -> float:
        """Of the text as it is now; `anew` where no earlier run in that way is known."""
        known = [] if anew or self.before is None else [self.before]
        tokens = self.text.tokens
        start = time.perf_counter()
        record = self.model.run(tokens, implementation=way, reuse=known)
        taken = 1e3 * (time.perf_counter() - start)
        if not anew:
            self.before = record
        return taken


class Clicks:
    """A page with a text on it, and what is done to it.

    Args:
        watched: the page.
        text: what is on it.
        at: the share of the text after which a word is changed.
    """

    def __init__(self, watched: Watched, text: Text, at: float) -> None:
        self.watched, self.page = watched, watched.page
        self.text = text
        self.place = text.place(at)
        self.chosen = [1, 0]

    def begin(self) -> None:
        """Type the whole text."""
        box = self.page.locator(BOX)
        box.fill(str(self.text))
        box.press("Enter")
        self.page.wait_for_function(
            """told => [...document.querySelectorAll('.st-key-samples')]
                .some(place => place.innerText.includes(told))""",
            arg=f"{len(self.text.tokens):,} tokens",
        )
        self.watched.settle()

    def edit(self) -> float | None:
        """From Enter to the pictures of the new text; the pause in typing is not waited for."""
        start, end, word = self.text.change(self.place)
        box = self.page.locator(BOX)
        box.focus()
        box.evaluate("(box, range) => box.setSelectionRange(...range)", [start, end])
        self.watched.arm("keydown", ["detail", "grid"])
        self.page.keyboard.insert_text(word)
        self.page.keyboard.press("Enter")
        return self._end()

    def toggle(self, way: str) -> float | None:
        """To the pictures of the run made in another way, which look the same."""
        default = state.ENTRIES["implementation"].default
        address = "!implementation=" if way == default else f"implementation={way}"
        button = self.page.locator(
            '[class*="st-key-implementation_widget"] button', has_text=TITLES[way]
        )
        button.scroll_into_view_if_needed()
        self.watched.arm("pointerdown", [], address)
        button.click()
        return self._end()

    def choose(self, down: int, across: int) -> float | None:
        """From a click on the map of all heads to the head, and its frame or the other layer."""
        config = self.text.model.config
        layer = (self.chosen[0] + down) % config.num_layers
        head = (self.chosen[1] + across) % config.attention.num_heads
        other = layer != self.chosen[0]
        self.chosen = [layer, head]
        tiles, turned = self.page.locator(MAP).evaluate(
            "map => [map.dataset.tiles.split(' ').map(Number), map.dataset.turned === 'true']"
        )
        left, top, pitch, tile = tiles
        x, y = (n * pitch + tile / 2 for n in ((layer, head) if turned else (head, layer)))
        canvas = self.page.locator(f"{MAP} canvas")
        canvas.scroll_into_view_if_needed()
        self.watched.arm("pointerdown", ["detail", "grid" if other else "frame"])
        canvas.click(position={"x": left + x, "y": top + y})
        return self._end()

    def _end(self) -> float | None:
        painted = self.watched.painted()
        self.watched.settle()
        return painted
