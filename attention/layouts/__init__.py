"""Names and shapes under which the same attention weights are kept elsewhere.

Each layout is a pair of functions, `pack` (head-explicit parts to a state dict) and
`unpack` (back), which are exact inverses; `LAYOUTS` lists them.
"""

from attention.errors import require_choice
from attention.layouts.base import Layout, Parts, StateDict
from attention.layouts.heads import HEADS
from attention.layouts.looped import LOOPED
from attention.layouts.separate import BATCHED, EQUINOX, LLAMA
from attention.layouts.stacked import STACKED
from attention.layouts.together import FUSED, GPT2, TORCH

__all__ = ["LAYOUTS", "Layout", "Parts", "StateDict", "find_layout"]

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (HEADS, LOOPED, STACKED, BATCHED, FUSED, TORCH, GPT2, LLAMA, EQUINOX)
}


def find_layout(name: str) -> Layout:
    """The layout of that name.

    Raises:
        ConfigError: when there is none; lists the choices.
    """
    require_choice("layout", name, list(LAYOUTS))
    return LAYOUTS[name]
