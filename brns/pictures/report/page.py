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

from brns.metrics.measures import MEASURES, Estimate, estimate, summary
from brns.metrics.numbers import number, ranges
from brns.metrics.tests import LEVEL, Tested, holm, least_p, mann_whitney, testable
from brns.pictures.figures import FIGURES, draw
from brns.pictures.records import mapped, methods, scene_of, without_search
from brns.pictures.report import view
from brns.pictures.style import NOVELTY, SOLVED
from brns.runs.metadata import origin
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.settings import leaves

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
    reference, *others = runs
    lengths = {label: sorted({record.last for record in seeds}) for label, seeds in runs.items()}
    drawn, not_drawn = {}, {}
    for name in track(list(FIGURES), "Drawing", len(FIGURES)):
        try:
            drawn[name] = _image(draw(name, records), FIGURES[name].wide)
        except ValueError as error:
            not_drawn[name] = f"{error}"
    watched = view.view(firsts)
    columns = [leaves(record.experiment) for record in firsts.values()]
    names = sorted(set().union(*columns))
    rows = table(runs)
    tested = [test for cells in rows.values() for _, test in cells if test]
    sizes = [(len(runs[reference]), len(runs[label])) for label in others]
    pages = Environment(
        loader=PackageLoader("brns.pictures.report", "."), autoescape=True, trim_blocks=True
    )
    filled = pages.get_template("page.html").render(
        world=firsts[reference].metadata.world,
        runs=runs,
        lengths={label: ranges(found) for label, found in lengths.items()},
        unlike=len(set().union(*lengths.values())) > 1,
        table=rows,
        measures=MEASURES,
        number=number,
        zip=zip,
        reference=reference,
        tested=bool(tested),
        tests=len(tested),
        confirmable=confirmable(sizes, len(tested)),
        untested=NOT_TESTED,
        level=LEVEL,
        left_out=without_search(records),
        view=watched,
        script=(Path(__file__).parent / "view.js").read_text(encoding="utf-8"),
        frames=len(watched["generations"]),
        walled=scene_of(firsts[reference]).walls is not None,
        mapped=mapped(firsts[reference]),
        areas=scene_of(firsts[reference]).areas,
        colors={"born": BORN, "solved": SOLVED, "scale": ", ".join(SCALE)},
        cells=view.MAP_CELLS,
        figures=FIGURES,
        drawn=drawn,
        not_drawn=not_drawn,
        settings={name: [column.get(name, "–") for column in columns] for name in names},
        origin=origin,
    )
    with replacing(out) as temporary:
        temporary.write_text(filled, encoding="utf-8")
    return out


def table(
    runs: Mapping[str, Sequence[Record]],
) -> dict[str, list[tuple[Estimate | None, Tested | None]]]:
    """Of each measure, by its name: each method's estimate over seeds, and its test against the
    first method.

    p is corrected for the whole table.
    """
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    found = {
        name: [summary(record, of_paths=of_paths) for record in seeds]
        for name, seeds in runs.items()
    }
    measures = dict.fromkeys(
        measure for seeds in found.values() for seed in seeds for measure in seed
    )
    estimates, values = {}, {}
    for measure, name in itertools.product(measures, runs):
        known = [seed[measure] for seed in found[name] if measure in seed]
        estimates[measure, name] = estimate(known) if known else None
        lacking = len(runs[name]) - len(known) if measure == NEVER_LATE else 0
        values[measure, name] = known + [math.inf] * lacking
    told = tests(values, next(iter(runs)))
    return {
        measure: [(estimates[measure, name], told.get((measure, name))) for name in runs]
        for measure in measures
    }


def tests(
    values: Mapping[tuple[str, str], Sequence[float]], reference: str
) -> dict[tuple[str, str], Tested]:
    """Each measure of each method against that of the reference, where a test could confirm
    anything."""
    found = {}
    for (measure, name), ours in values.items():
        theirs = values[measure, reference]
        if measure not in NOT_TESTED and name != reference and testable(len(ours), len(theirs)):
            found[measure, name] = mann_whitney(ours, theirs)
    corrected = holm([test.p for test in found.values()])
    return {
        place: test._replace(p=p) for (place, test), p in zip(found.items(), corrected, strict=True)
    }


def confirmable(sizes: Sequence[tuple[int, int]], tests: int) -> bool:
    """Whether any of so many tests can confirm a difference after Holm's correction, however clear.

    Args:
        sizes: seeds of the reference and of each other method.
        tests: how many are made.

    Returns:
        Whether the least p there can be, times the number of tests, is below the level.
    """
    return any(least_p(*pair) * tests < LEVEL for pair in sizes)


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
