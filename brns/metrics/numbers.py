"""Numbers as a person reads them, the same wherever they are printed."""

import math


def number(value: float | int | None) -> str:
    """Whole from 100 on, three digits below; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    whole = math.isinf(value) or value == round(value) or abs(value) >= 100
    return f"{value:.0f}" if whole else f"{value:.3g}"
