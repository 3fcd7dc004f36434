"""The page of a report, which `page.html` shows."""

import base64
import io
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from brns.formatting import format_number, format_range
from brns.metrics.measures import MEASURES, Estimate, estimate, summary
from brns.metrics.significance import LEVEL, Difference, by_seed, corrected
from brns.pictures.figures import FIGURES, draw
from brns.pictures.records import explain_left_out, has_map, methods, scene_of
from brns.pictures.report import view
from brns.pictures.style import NOVELTY, SOLVED
from brns.runs.metadata import describe_origin
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.settings import flatten

BORN = "#ff9f1c"
SCALE = [to_hex(color) for color in colormaps[NOVELTY](np.linspace(0, 1, 12))]
NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


def write(records: Sequence[Record], out: str | os.PathLike) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its
    path.

    It has a table, every figure that the records can give, a view of the search with a slider over
    generations, and what was run. Needs Jinja2: `pip install 'brns[report]'`.

    Args:
        records: runs of one task.
        out: the page, an .html.

    Returns:
        The page's path.

    Raises:
        ValueError: for runs of different tasks, the same run twice, and no run.
    """
    out = Path(out)
    runs = methods(records)
    firsts = {label: seeds[0] for label, seeds in runs.items()}
    reference = next(iter(runs))
    lengths = {label: _lengths(seeds) for label, seeds in runs.items()}
    drawn, not_drawn = {}, {}
    for name in track(list(FIGURES), "Drawing", len(FIGURES)):
        try:
            drawn[name] = _image(draw(name, records), FIGURES[name].wide)
        except ValueError as error:
            not_drawn[name] = f"{error}"
    watched = view.view(firsts)
    columns = [flatten(record.experiment) for record in firsts.values()]
    names = sorted(set().union(*columns))
    rows = table(runs)
    tested = [test for cells in rows.values() for _, test in cells if test]
    pages = Environment(
        loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True
    )
    filled = pages.get_template("page.html").render(
        world=firsts[reference].metadata.world,
        runs=runs,
        lengths={label: format_range(last) for label, last in lengths.items()},
        unlike=len(set().union(*lengths.values())) > 1,
        table=rows,
        measures=MEASURES,
        number=format_number,
        zip=zip,
        reference=reference,
        tested=any(not math.isnan(test.p) for test in tested),
        level=LEVEL,
        left_out=explain_left_out(records),
        view=watched,
        script=(Path(__file__).parent / "view.js").read_text(encoding="utf-8"),
        frames=len(watched["generations"]),
        walled=scene_of(firsts[reference]).walls is not None,
        mapped=has_map(firsts[reference]),
        areas=scene_of(firsts[reference]).areas,
        colors={"born": BORN, "solved": SOLVED, "scale": ", ".join(SCALE)},
        cells=view.MAP_CELLS,
        figures=FIGURES,
        drawn=drawn,
        not_drawn=not_drawn,
        settings={name: _row(name, columns) for name in names},
        origin=describe_origin,
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
    """Of each measure, by its name: each method's estimate over seeds, and its test against the
    first method.

    p is corrected for the whole table.
    """
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    summaries, measures = {}, {}
    for name, seeds in runs.items():
        summaries[name] = [summary(record, of_paths=of_paths) for record in seeds]
        for row in summaries[name]:
            measures |= dict.fromkeys(row)
    estimates, values = {}, {}
    for measure, name in itertools.product(measures, runs):
        present = [seed[measure] for seed in summaries[name] if measure in seed]
        estimates[measure, name] = estimate(present) if present else None
        late = {record.seed: math.inf for record in runs[name]} if measure == NEVER_LATE else {}
        numbers = zip(runs[name], summaries[name], strict=True)
        values[measure, name] = late | {
            record.seed: seed[measure] for record, seed in numbers if measure in seed
        }
    significances = differences(values, next(iter(runs)))
    rows = {measure: [] for measure in measures}
    for measure, name in itertools.product(measures, runs):
        rows[measure].append((estimates[measure, name], significances.get((measure, name))))
    return rows


def differences(
    values: Mapping[tuple[str, str], Mapping[int, float]], reference: str
) -> dict[tuple[str, str], Difference]:
    """Each measure of each method against that of the reference, seed by seed,
    corrected together.
    """
    places = [
        (measure, name)
        for measure, name in values
        if measure not in NOT_TESTED and name != reference
    ]
    rows = [by_seed(values[place], values[place[0], reference]) for place in places]
    return dict(zip(places, corrected(rows), strict=True))


def _image(figure: Figure, wide: bool) -> tuple[str, bool]:
    """The source of a figure's image, and whether it is wide. Maps have thousands of points: they
    are pixels."""
    buffer = io.BytesIO()
    if wide:
        figure.savefig(buffer, format="png", dpi=100)
        picture = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        picture.save(buffer, format="png", optimize=True)
    else:
        figure.savefig(buffer, format="svg")
    kind = "png" if wide else "svg+xml"
    image = f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return image, bool(figure.get_figwidth() > 8)
