"""The page of a report, which `page.html` shows."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from brns.metrics.tests import LEVEL, testable
from brns.pictures.drawing import draw
from brns.pictures.figures import FIGURES, Picture
from brns.pictures.methods import methods
from brns.pictures.report import charts, table, traces, view
from brns.pictures.scene import scene_of, without_search
from brns.pictures.style import SOLVED, unused
from brns.runs.bar import Track, untracked
from brns.runs.facts import origin
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.settings import leaves

Runs = Mapping[str, Sequence[Record]]


class Drawn(NamedTuple):
    """A figure in the page, or the reason why these records cannot give it."""

    name: str
    figure: Picture
    charts: Sequence[str] = ()
    image: str = ""
    wide: bool = False
    reason: str = ""


def write(records: Sequence[Record], out: str | os.PathLike, track: Track = untracked, overwrite: bool = False) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its path.

    What was run, a table (mean, standard deviation and number of seeds for each method), every figure that the records
    can give, with the reason where they cannot, and a view of the search with a slider over generations. Needs plotly
    and Jinja2: `pip install 'brns[report]'`. `track` sees how far the work is. Errors: `FileExistsError` where the page
    is there already, unless it may be overwritten.
    """
    out = unused(out, overwrite)
    runs = methods(records)
    names = [name for name, figure in FIGURES.items() if figure.worlds != "none"]
    drawn = [_figure(name, records) for name in track(names, "Drawing", len(names))]
    pages = Environment(loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True)
    filled = pages.get_template("page.html").render(
        **_heading(runs),
        **_view(runs),
        runs=runs,
        table=table.rows(runs),
        level=LEVEL,
        left_out=without_search(records),
        drawn=[one for one in drawn if not one.reason],
        not_drawn=[one for one in drawn if one.reason],
        settings=_settings(runs),
        origin=origin,
        plotly=get_plotlyjs(),
    )
    with replacing(out) as temporary:
        temporary.write_text(filled, encoding="utf-8")
    return out


def _heading(runs: Runs) -> dict[str, Any]:
    name = next(iter(runs.values()))[0].world["name"]
    reference, *others = runs
    lengths = {label: _ranged(record.generations[-1] for record in seeds) for label, seeds in runs.items()}
    return {
        "world": re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower(),  # DeceptiveMaze as deceptive maze
        "lengths": lengths,
        "unlike": len(set(lengths.values())) > 1 or any(" to " in text for text in lengths.values()),
        "reference": reference,
        "several": bool(others),
        "tested": any(testable(len(runs[reference]), len(runs[label])) for label in others),
    }


def _ranged(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else f"{found[0]}"


def _view(runs: Runs) -> dict[str, Any]:
    """The view of the search, what its colours mean, and how much it shows."""
    views = view.runs_shown(runs)
    first = views[0].record
    world = scene_of(first)
    marks = [
        ("population", "background: #ffffff"),
        ("born in the generation shown", f"background: {traces.BORN}"),
        ("solves the task", f"border-color: {SOLVED}"),
        *((area.name, f"border-color: {area.color}") for area in world.areas),
    ]
    return {
        "view": charts.chart(view.view(runs), "view"),
        "marks": marks,
        "mapped": view.mapped(first),
        "scale": traces.SCALE,
        "cells": traces.MAP_CELLS,
        "first": first,
        "views": len(views),
        "frames": len(view.generations_shown(views)),
    }


def _figure(name: str, records: Sequence[Record]) -> Drawn:
    figure = FIGURES[name]
    try:
        drawn = draw(name, records)
    except ValueError as error:
        return Drawn(name, figure, reason=f"{error}")
    found = charts.curves(drawn, name) if figure.panels in ("one", "method") else []
    image = "" if found else charts.picture(drawn)
    return Drawn(name, figure, found, image, wide=drawn.get_figwidth() > 8)


def _settings(runs: Runs) -> list[tuple[str, list[str], bool]]:
    """Each setting, its values by method, and whether they differ; those of one part stand together."""
    columns = [leaves(seeds[0].experiment) for seeds in runs.values()]
    names = list(dict.fromkeys(name for column in columns for name in column))
    parts = list(dict.fromkeys(name.split(".")[0] for name in names))
    rows = []
    for name in sorted(names, key=lambda name: parts.index(name.split(".")[0])):
        values = [f"{column.get(name, '–')}" for column in columns]
        rows.append((name, [text if len(text) <= 120 else f"{text[:117]}..." for text in values], len(set(values)) > 1))
    return rows
