"""Work that the page waits for: it says how far it is, and ends where the reader has moved on."""

import time

from streamlit.delta_generator import DeltaGenerator

from attention.progress import Progress

SOON_S = 0.4  # work that takes longer is told of
OFTEN_S = 0.2  # between two words about it


def telling(place: DeltaGenerator, doing: str) -> Progress:
    """What long work calls now and then with the share that is done, up to 1.

    Each word to the page is also where Streamlit ends a run that a newer text or choice has
    overtaken.

    Args:
        place: where it is said how far the work is.
        doing: what is being done, such as "Running the text".
    """
    begun = said = time.monotonic()

    def tell(share: float) -> None:
        nonlocal said
        now = time.monotonic()
        if now - begun > SOON_S and now - said > OFTEN_S:
            said = now
            left = (now - begun) / share * (1 - share) if share else None
            about = "" if left is None else f", about {max(1, round(left))} s left"
            place.caption(f"{doing}: {share:.0%}{about}")

    return tell
