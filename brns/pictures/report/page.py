"""The page of a report, which `page.html` shows."""

import base64
import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from brns.metrics.measures import MEASURES, Estimate, estimate, summary
from brns.metrics.numbers import number, ranges
from brns.metrics.tests import LEVEL, Tested, holm, mann_whitney, testable
from brns.pictures.figures import FIGURES, Picture, draw
from brns.pictures.methods import methods
from brns.pictures.report import view
from brns.pictures.scene import mapped, scene_of, without_search
from brns.pictures.style import SOLVED
from brns.runs.metadata import origin
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.settings import leaves

ELEMENT: Any = {
    "config": {"displayModeBar": False, "responsive": True},
    "auto_play": False,
    "include_plotlyjs": False,
    "full_html": False,
    "div_id": "view",
}
"""of a page that has plotly's script"""
NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


class Drawn(NamedTuple):
    """A figure in the page, or the reason why these records cannot give it."""

    name: str
    figure: Picture
    image: str = ""
    """the source of an image"""
    wide: bool = False
    reason: str = ""


def write(records: Sequence[Record], out: str | os.PathLike) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its path.

    It has a table, every figure that the records can give, a view of the search with a slider over generations, and
    what was run. Needs plotly and Jinja2: `pip install 'brns[report]'`.
    """
    out = Path(out)
    runs = methods(records)
    firsts = {label: seeds[0] for label, seeds in runs.items()}
    reference, *others = runs
    lengths = {label: sorted({record.generations[-1] for record in seeds}) for label, seeds in runs.items()}
    drawn = [_figure(name, records) for name in track(list(FIGURES), "Drawing", len(FIGURES))]
    pages = Environment(loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True)
    filled = pages.get_template("page.html").render(
        world=firsts[reference].metadata.world,
        runs=runs,
        lengths={label: ranges(found) for label, found in lengths.items()},
        unlike=len(set().union(*lengths.values())) > 1,
        table=table(runs),
        measures=MEASURES,
        number=number,
        zip=zip,
        reference=reference,
        several=bool(others),
        tested=any(testable(len(runs[reference]), len(runs[label])) for label in others),
        level=LEVEL,
        left_out=without_search(records),
        view=view.view(firsts).to_html(**ELEMENT),
        frames=len(view.generations_shown(list(firsts.values()))),
        mapped=mapped(firsts[reference]),
        areas=scene_of(firsts[reference]).areas,
        colors={"born": view.BORN, "solved": SOLVED, "scale": ", ".join(view.SCALE)},
        cells=view.MAP_CELLS,
        figures=drawn,
        settings=_settings(runs),
        origin=origin,
        plotly=get_plotlyjs(),
    )
    with replacing(out) as temporary:
        temporary.write_text(filled, encoding="utf-8")
    return out


def table(runs: Mapping[str, Sequence[Record]]) -> dict[str, list[tuple[Estimate | None, Tested | None]]]:
    """Of each measure, by its name: each method's estimate over seeds, and its test against the first method.

    p is corrected for the whole table.
    """
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    found = {name: [summary(record, of_paths=of_paths) for record in seeds] for name, seeds in runs.items()}
    measures = dict.fromkeys(measure for seeds in found.values() for seed in seeds for measure in seed)
    values = {(m, name): [seed[m] for seed in seeds if m in seed] for m in measures for name, seeds in found.items()}
    late = {(NEVER_LATE, name): [seed.get(NEVER_LATE, math.inf) for seed in seeds] for name, seeds in found.items()}
    told = tests(values | late if NEVER_LATE in measures else values, list(runs))
    over = {place: estimate(seeds) if seeds else None for place, seeds in values.items()}
    return {measure: [(over[measure, name], told.get((measure, name))) for name in runs] for measure in measures}


def tests(values: Mapping[tuple[str, str], Sequence[float]], names: Sequence[str]) -> dict[tuple[str, str], Tested]:
    """Each measure of each method against that of the first, where a test could confirm anything."""
    reference, *others = names
    places = [
        (measure, name)
        for measure, name in values
        if measure not in NOT_TESTED
        and name in others
        and testable(len(values[measure, name]), len(values[measure, reference]))
    ]
    found = [mann_whitney(values[measure, name], values[measure, reference]) for measure, name in places]
    corrected = holm([one.p for one in found])
    return {place: one._replace(p=p) for place, one, p in zip(places, found, corrected, strict=True)}


def _figure(name: str, records: Sequence[Record]) -> Drawn:
    figure = FIGURES[name]
    try:
        drawn = draw(name, records)
    except ValueError as error:
        return Drawn(name, figure, reason=f"{error}")
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="svg", dpi=110)
    image = f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return Drawn(name, figure, image, wide=drawn.get_figwidth() > 8)


def _settings(runs: Mapping[str, Sequence[Record]]) -> list[tuple[str, list[Any]]]:
    columns = [leaves(seeds[0].experiment) for seeds in runs.values()]
    names = sorted(set().union(*columns))
    return [(name, [column.get(name, "–") for column in columns]) for name in names]
