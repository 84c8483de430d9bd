"""Numbers as people read them: few figures, no powers of ten."""


def number(value: float) -> str:
    """Three significant figures, never in powers of ten.

    Example:
        `number(0.22749)` is "0.227"; `number(1234.5)` is "1,230".
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{rounded:,.0f}".replace("-", "−")
    decimals = 2 if abs(rounded) >= 1 else 3
    if abs(rounded) >= 10:
        decimals = 1
    return f"{rounded:.{decimals}f}".replace("-", "−")


def heads_written(count: int) -> str:
    """A head count.

    Example:
        `heads_written(1)` is "1 head"; `heads_written(12)` is "12 heads".
    """
    return f"{count} {'head' if count == 1 else 'heads'}"
