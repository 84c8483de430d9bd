"""Which heads are knocked out, layer by layer."""

from collections.abc import Iterable

from attention.errors import ConfigError, require_head

Head = tuple[int, int]  # (layer, head)


def heads_by_layer(
    ablate: Iterable[Head], *, num_layers: int, num_heads: int
) -> dict[int, set[int]]:
    """The heads of each layer among (layer, head) pairs; layers that keep all are left out.

    Raises:
        ConfigError: when something is no pair, or a layer or head does not exist.

    Example:
        `heads_by_layer([(1, 0), (1, 2)], num_layers=2, num_heads=3)` is `{1: {0, 2}}`.
    """
    try:
        pairs = [(layer, head) for layer, head in ablate]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"ablate must hold (layer, head) pairs; got {ablate!r}.") from error
    found: dict[int, set[int]] = {}
    for pair in pairs:
        layer, head = require_head(*pair, num_layers=num_layers, num_heads=num_heads)
        found.setdefault(layer, set()).add(head)
    return found
