"""Figure 6: what a generation's novelty costs."""

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from brns.pictures.methods import colors_of, styles_of
from brns.pictures.style import axes


def time(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Figure 6: time of one generation's novelty against the descriptor's dimension, of rows that `read_times` gives.

    A line for each method and number of archive entries: the median of its rows, the band from the least to the most.
    Of rows for several numbers of individuals, those of the largest are drawn: the paper has 100 + 100.
    """
    ax = axes(ax)
    most = max(row.get("individuals", 0) for row in rows)
    rows = [row for row in rows if row.get("individuals", 0) == most]
    lines: dict[tuple[str, int], dict[int, list[float]]] = {}
    for row in rows:
        line = lines.setdefault((row["method"], row["entries"]), {})
        line.setdefault(row["d"], []).append(row["ms"])
    labels = {key: f"{key[0]}, {key[1]} entries" if key[1] else key[0] for key in lines}
    shades = colors_of(labels.values())
    styles = styles_of(shades)
    for key, line in lines.items():
        d, color = sorted(line), shades[labels[key]]
        ax.plot(
            d, [np.median(line[n]) for n in d], marker="o", ms=4, ls=styles[labels[key]], color=color, label=labels[key]
        )
        ax.fill_between(d, [min(line[n]) for n in d], [max(line[n]) for n in d], color=color, alpha=0.18, lw=0)
    ax.set(xscale="log", yscale="log", xlabel="dimension of the descriptor", ylabel="ms per generation")
    ax.yaxis.set_major_formatter("{x:g}")
    ticks = sorted({row["d"] for row in rows})
    ax.set_xticks(ticks, map(str, ticks))
    ax.minorticks_off()
    return ax


def read_times(path: str | os.PathLike) -> list[dict[str, Any]]:
    """The rows of a CSV of timings: the columns method, d, entries and ms, and individuals where it is there."""
    kinds = {"method": str, "d": int, "entries": int, "ms": float}
    if not os.path.isfile(path):
        raise ValueError(
            f"figure 6 is drawn of CSV files of timings, such as results/timing/timing.csv; {path} is none"
        )
    with open(path, newline="") as stream:
        reader = csv.DictReader(stream)
        missing = set(kinds) - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{path} needs the columns {', '.join(kinds)}; it lacks {', '.join(sorted(missing))}")
        if "individuals" in (reader.fieldnames or ()):
            kinds["individuals"] = int
        rows = []
        for row in reader:
            try:
                rows.append({name: kind(row[name]) for name, kind in kinds.items()})
            except (ValueError, TypeError):
                raise ValueError(
                    f"{path}, line {reader.line_num}: d and entries are counts, ms a number; got {row}"
                ) from None
            if not np.isfinite(rows[-1]["ms"]):
                raise ValueError(f"{path}, line {reader.line_num}: ms must be a finite number; got {row['ms']}")
    if not rows:
        raise ValueError(f"{path} holds no timings below its header")
    return rows
