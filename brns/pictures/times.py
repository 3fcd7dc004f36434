"""Figure 6: what a generation's novelty costs."""

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from brns.pictures.methods import colors_of, styles_of
from brns.pictures.style import axes

KINDS = {"method": str, "d": int, "entries": int, "ms": float, "individuals": int}
"""the columns of a table of timings; that of individuals may be missing"""


def time(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Figure 6: time of one generation's novelty against the descriptor's dimension, of rows that `read_times` gives.

    A line for each method and number of archive entries: the median of its rows, the band from the least to the most.
    Of rows for several numbers of individuals, those of the largest are drawn: the paper has 100 + 100.
    """
    ax = axes(ax)
    most = max(row.get("individuals", 0) for row in rows)
    lines: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if row.get("individuals", 0) == most:
            label = f"{row['method']}, {row['entries']} entries" if row["entries"] else row["method"]
            lines.setdefault(label, {}).setdefault(row["d"], []).append(row["ms"])
    shades = colors_of(lines)
    styles = styles_of(shades)
    for label, line in lines.items():
        d = sorted(line)
        color = shades[label]
        ax.plot(d, [np.median(line[n]) for n in d], marker="o", ms=4, ls=styles[label], color=color, label=label)
        ax.fill_between(d, [min(line[n]) for n in d], [max(line[n]) for n in d], color=color, alpha=0.18, lw=0)
    ax.set(xscale="log", yscale="log", xlabel="dimension of the descriptor", ylabel="ms per generation")
    ax.yaxis.set_major_formatter("{x:g}")
    ticks = sorted({row["d"] for row in rows})
    ax.set_xticks(ticks, map(str, ticks))
    ax.minorticks_off()
    return ax


def read_times(path: str | os.PathLike) -> list[dict[str, Any]]:
    """The rows of a CSV of timings: the columns method, d, entries and ms, and individuals where it is there."""
    try:
        with open(path, newline="") as stream:
            rows = [{"individuals": 0, **row} for row in csv.DictReader(stream)]
        if not rows:
            raise ValueError("it has no rows")
        return [{name: kind(row[name]) for name, kind in KINDS.items()} for row in rows]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"figure 6 is drawn of CSV files of timings, such as timing.csv of `python -m reproduction timing`, with "
            f"the columns method, d, entries and ms; {path} is none: {type(error).__name__} {error}"
        ) from None
