"""Bytes, FLOP/s and shares as people read them."""

from attention.benchmark.numbers import number

THOUSAND = 1000.0


def in_bytes(count: float) -> str:
    """A number of bytes.

    Example:
        `in_bytes(3_342_336)` is "3.34 MB".
    """
    return _scaled(count, ("bytes", "kB", "MB", "GB", "TB"))


def in_flops(rate: float) -> str:
    """FLOP/s.

    Example:
        `in_flops(1.58e11)` is "158 GFLOP/s".
    """
    return _scaled(rate, ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"))


def in_percent(share: float) -> str:
    """A share of 1.

    Example:
        `in_percent(0.0712)` is "7.1%"; `in_percent(0.712)` is "71%".
    """
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _scaled(value: float, units: tuple[str, ...]) -> str:
    place = 0
    while abs(value) >= THOUSAND and place < len(units) - 1:
        value, place = value / THOUSAND, place + 1
    whole = place == 0 and float(value).is_integer()
    return f"{value:.0f} {units[0]}" if whole else f"{number(value)} {units[place]}"
