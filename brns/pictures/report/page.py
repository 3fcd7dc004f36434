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
from brns.runs.metadata import origin
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
    and Jinja2: `pip install 'brns[report]'`. `track` shows the progress. Errors: `FileExistsError` where the page is
    there already, unless it may be overwritten.
    """
    out = unused(out, overwrite)
    runs = methods(records)
    views = view.runs_shown(runs)
    reference, *others = runs
    lengths = {label: _ranged(record.generations[-1] for record in seeds) for label, seeds in runs.items()}
    drawn = [_figure(name, records) for name in track(list(FIGURES), "Drawing", len(FIGURES))]
    pages = Environment(loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True)
    filled = pages.get_template("page.html").render(
        # DeceptiveMaze as deceptive maze
        world=re.sub(r"(?<=[a-z])(?=[A-Z])", " ", views[0].record.world["name"]).lower(),
        runs=runs,
        lengths=lengths,
        unlike=len(set(lengths.values())) > 1 or any(" to " in length for length in lengths.values()),
        table=table.rows(runs),
        reference=reference,
        several=bool(others),
        tested=any(testable(len(runs[reference]), len(runs[label])) for label in others),
        level=LEVEL,
        left_out=without_search(records),
        view=charts.chart(view.view(runs), "view"),
        views=views,
        frames=len(view.generations_shown(views)),
        mapped=view.mapped(views[0].record),
        areas=scene_of(views[0].record).areas,
        colors={"born": traces.BORN, "solved": SOLVED, "scale": ", ".join(traces.SCALE)},
        cells=traces.MAP_CELLS,
        drawn=[one for one in drawn if not one.reason],
        not_drawn=[one for one in drawn if one.reason],
        settings=_settings(runs),
        origin=origin,
        plotly=get_plotlyjs(),
    )
    with replacing(out) as temporary:
        temporary.write_text(filled, encoding="utf-8")
    return out


def _ranged(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else f"{found[0]}"


def _figure(name: str, records: Sequence[Record]) -> Drawn:
    figure = FIGURES[name]
    try:
        drawn = draw(name, records)
    except ValueError as error:
        return Drawn(name, figure, reason=f"{error}")
    curves = charts.curves(drawn) if figure.panels in ("one", "method") else []
    found = [charts.chart(curve, f"{name}-{place}") for place, curve in enumerate(curves)]
    image = "" if found else charts.picture(drawn)
    return Drawn(name, figure, found, image, wide=drawn.get_figwidth() > 8)


def _settings(runs: Runs) -> list[tuple[str, list[Any]]]:
    """Each setting and its values by method; those of one part stand together."""
    columns = [leaves(seeds[0].experiment) for seeds in runs.values()]
    names = list(dict.fromkeys(name for column in columns for name in column))
    parts = list(dict.fromkeys(name.split(".")[0] for name in names))
    names.sort(key=lambda name: parts.index(name.split(".")[0]))
    return [(name, [column.get(name, "–") for column in columns]) for name in names]
