"""The page of a report, which `page.html` shows."""

import base64
import io
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader
from matplotlib.figure import Figure
from plotly.offline import get_plotlyjs

from brns.metrics.measures import MEASURES, Estimate, estimate, summary
from brns.metrics.numbers import number, ranges
from brns.metrics.significance import LEVEL, Difference, by_seed, corrected
from brns.pictures.figures import FIGURES, draw
from brns.pictures.records import mapped, methods, scene_of, without_search
from brns.pictures.report import view
from brns.pictures.style import SOLVED
from brns.runs.metadata import origin
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.settings import leaves

CONFIG = {"displayModeBar": False, "responsive": True}
NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


def write(records: Sequence[Record], out: str | os.PathLike) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its path.

    It has a table, every figure that the records can give, a view of the search with a slider over generations, and
    what was run. Needs plotly and Jinja2: `pip install 'brns[report]'`.
    """
    out = Path(out)
    runs = methods(records)
    firsts = {label: seeds[0] for label, seeds in runs.items()}
    reference = next(iter(runs))
    lengths = {label: _lengths(seeds) for label, seeds in runs.items()}
    drawn, not_drawn = {}, {}
    for name in track(list(FIGURES), "Drawing", len(FIGURES)):
        try:
            drawn[name] = _image(draw(name, records))
        except ValueError as error:
            not_drawn[name] = f"{error}"
    watched = view.view(firsts)
    summarized = table(runs)
    tests = [test for cells in summarized.values() for _, test in cells if test is not None]
    columns = [leaves(record.experiment) for record in firsts.values()]
    names = sorted(set().union(*columns))
    pages = Environment(
        loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True
    )
    filled = pages.get_template("page.html").render(
        world=firsts[reference].metadata.world,
        runs=runs,
        lengths={label: ranges(found) for label, found in lengths.items()},
        unlike=len(set().union(*lengths.values())) > 1,
        table=summarized,
        measures=MEASURES,
        number=number,
        zip=zip,
        reference=reference,
        tested=any(not math.isnan(test.p) for test in tests),
        level=LEVEL,
        left_out=without_search(records),
        view=watched.to_html(
            CONFIG, auto_play=False, include_plotlyjs=False, full_html=False, div_id="view"
        ),
        frames=len(watched.frames),
        mapped=mapped(firsts[reference]),
        areas=scene_of(firsts[reference]).areas,
        colors={"born": view.BORN, "solved": SOLVED, "scale": ", ".join(view.SCALE)},
        cells=view.MAP_CELLS,
        figures=FIGURES,
        drawn=drawn,
        not_drawn=not_drawn,
        settings={name: _row(name, columns) for name in names},
        origin=origin,
        plotly=get_plotlyjs(),
    )
    with replacing(out) as temporary:
        temporary.write_text(filled, encoding="utf-8")
    return out


def _lengths(records: Sequence[Record]) -> list[int]:
    """The numbers of generations of these runs."""
    return sorted({record.last for record in records})


def _row(name: str, columns: Sequence[Mapping[str, object]]) -> list[object]:
    """A setting of each method; a dash where it has none of the name."""
    return [column.get(name, "–") for column in columns]


def table(
    runs: Mapping[str, Sequence[Record]],
) -> dict[str, list[tuple[Estimate | None, Difference | None]]]:
    """Of each measure, by its name: each method's estimate over seeds, and its test against the first method.

    p is corrected for the whole table.
    """
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    found, measures = {}, {}
    for name, seeds in runs.items():
        found[name] = [summary(record, of_paths=of_paths) for record in seeds]
        for row in found[name]:
            measures |= dict.fromkeys(row)
    estimates, values = {}, {}
    for measure, name in itertools.product(measures, runs):
        known = [seed[measure] for seed in found[name] if measure in seed]
        estimates[measure, name] = estimate(known) if known else None
        late = {record.seed: math.inf for record in runs[name]} if measure == NEVER_LATE else {}
        numbers = zip(runs[name], found[name], strict=True)
        values[measure, name] = late | {
            record.seed: seed[measure] for record, seed in numbers if measure in seed
        }
    told = differences(values, next(iter(runs)))
    rows = {measure: [] for measure in measures}
    for measure, name in itertools.product(measures, runs):
        rows[measure].append((estimates[measure, name], told.get((measure, name))))
    return rows


def differences(
    values: Mapping[tuple[str, str], Mapping[int, float]], reference: str
) -> dict[tuple[str, str], Difference]:
    """Each measure of each method against that of the reference, seed by seed, corrected together."""
    places = [
        (measure, name)
        for measure, name in values
        if measure not in NOT_TESTED and name != reference
    ]
    found = [by_seed(values[place], values[place[0], reference]) for place in places]
    return dict(zip(places, corrected(found), strict=True))


def _image(figure: Figure) -> tuple[str, bool]:
    """The source of a figure's image, and whether it is wide."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", dpi=110)
    image = f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return image, bool(figure.get_figwidth() > 8)
