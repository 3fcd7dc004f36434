"""The page of a report, which `page.html` shows."""

import io
import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from brns.formatting import format_number, format_numbers_with_ellipsis
from brns.metrics.measures import MEASURES, Estimate, compute_mean_and_deviation, summarize_run
from brns.metrics.significance import (
    LEVEL,
    Difference,
    compare_shared_seeds,
    correct_differences_by_holm,
)
from brns.pictures.figures import draw
from brns.pictures.records import (
    can_draw_novelty_map,
    explain_figures_omitted_without_search,
    group_by_method,
    has_paths,
)
from brns.pictures.report import view
from brns.pictures.style import NOVELTY, SOLVED, encode_image_data_url, encode_png
from brns.pictures.table import FIGURES
from brns.progress import show_progress_of
from brns.runs.files import make_file_atomically
from brns.runs.metadata import describe_fork
from brns.runs.record import Record
from brns.settings.differences import flatten_settings

BORN = "#ff9f1c"
SCALE = [to_hex(color) for color in colormaps[NOVELTY](np.linspace(0, 1, 12))]
NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


def write_report(records: Sequence[Record], out: str | os.PathLike) -> Path:
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
        ValueError: for runs of different tasks, the same run twice, no run, and a page that is a
            folder.
    """
    out = Path(out)
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give the page's name in it, such as report.html")
    runs = group_by_method(records)
    first_seeds = {label: seeds[0] for label, seeds in runs.items()}
    reference, first = next(iter(first_seeds.items()))
    lengths: dict[str, list[int]] = {}
    for label, seeds in runs.items():
        lengths[label] = sorted({record.last_generation for record in seeds})
    drawn, not_drawn = _draw_figures_and_explain_omitted(records)
    rows = estimate_and_test_measures(runs)
    tested = [test for cells in rows.values() for _, test in cells if test]
    pages = Environment(
        loader=PackageLoader("brns.pictures.report", "."),
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    # A scene may have NumPy's numbers and arrays.
    to_plain = {"default": lambda numbers: np.asarray(numbers, float).tolist()}
    pages.policies["json.dumps_kwargs"] = to_plain
    filled = pages.get_template("page.html").render(
        task=first.metadata.task,
        runs=runs,
        lengths={label: format_numbers_with_ellipsis(last) for label, last in lengths.items()},
        unlike=len(set().union(*lengths.values())) > 1,
        table=rows,
        measures=MEASURES,
        number=format_number,
        zip=zip,
        reference=reference,
        tested=any(not math.isnan(test.p) for test in tested),
        level=LEVEL,
        left_out=explain_figures_omitted_without_search(records),
        view=view.gather_view(first_seeds),
        script=(Path(__file__).parent / "view.js").read_text(encoding="utf-8"),
        mapped=can_draw_novelty_map(first),
        colors={"born": BORN, "solved": SOLVED, "scale": ", ".join(SCALE)},
        cells=view.MAP_CELLS,
        figures=FIGURES,
        drawn=drawn,
        not_drawn=not_drawn,
        settings=_tabulate_settings_by_run(first_seeds.values()),
        origin=describe_fork,
    )
    with make_file_atomically(out) as temporary:
        temporary.write_text(filled, "utf-8", "backslashreplace")  # names may be any bytes
    return out


def _draw_figures_and_explain_omitted(
    records: Sequence[Record],
) -> tuple[dict[str, tuple[str, bool]], dict[str, str]]:
    """The images of the figures by name, and of those that cannot be drawn the reasons."""
    drawn, not_drawn = {}, {}
    names = [name for name, figure in FIGURES.items() if not figure.timed]
    for name in show_progress_of(names, "Drawing", len(names)):
        try:
            figure = draw(name, records)
            drawn[name] = _encode_figure_and_check_if_wide(figure, FIGURES[name].shows_maps)
        except ValueError as error:
            not_drawn[name] = f"{error}"
    return drawn, not_drawn


def _tabulate_settings_by_run(records: Collection[Record]) -> dict[str, list[Any]]:
    """Every setting by its name, with its value in each run."""
    columns = [flatten_settings(record.experiment) for record in records]
    settings = {}
    for name in sorted(set().union(*columns)):
        settings[name] = [column.get(name, "–") for column in columns]
    return settings


def estimate_and_test_measures(
    runs: Mapping[str, Sequence[Record]],
) -> dict[str, list[tuple[Estimate | None, Difference | None]]]:
    """By measure: each method's estimate, and its test against the first, p corrected over all."""
    of_paths = has_paths(next(iter(runs.values()))[0])
    values: dict[str, dict[str, dict[int, float]]] = {}
    numbers: dict[str, list[int]] = {}
    for name, seeds in runs.items():
        for record in seeds:
            for measure, value in summarize_run(record, of_paths=of_paths).items():
                of_methods = values.setdefault(measure, {each: {} for each in runs})
                of_methods[name][record.seed] = value
        numbers[name] = [record.seed for record in seeds]
    for name, of_seeds in values.get("failed", {}).items():  # not shown of a run without, but 0
        of_seeds.update(dict.fromkeys(numbers[name], 0.0) | of_seeds)
    tests = compare_with_first_method(values, numbers)
    rows = {}
    for measure, of_methods in values.items():
        rows[measure] = []
        for name, of_seeds in of_methods.items():
            mean = compute_mean_and_deviation([*of_seeds.values()]) if of_seeds else None
            rows[measure].append((mean, tests.get((measure, name))))
    return rows


def compare_with_first_method(
    values: Mapping[str, Mapping[str, dict[int, float]]], seeds: Mapping[str, Sequence[int]]
) -> dict[tuple[str, str], Difference]:
    """Each measure of each method against that of the first, seed by seed, corrected together."""
    reference, *others = seeds
    tests = {}
    for measure, of_methods in values.items():
        if measure in NOT_TESTED:
            continue
        if measure == NEVER_LATE:
            late = {name: dict.fromkeys(seeds[name], math.inf) for name in seeds}
            of_methods = {name: late[name] | numbers for name, numbers in of_methods.items()}
        for name in others:
            tests[measure, name] = compare_shared_seeds(of_methods[name], of_methods[reference])
    return dict(zip(tests, correct_differences_by_holm(list(tests.values())), strict=True))


def _encode_figure_and_check_if_wide(figure: Figure, is_map: bool) -> tuple[str, bool]:
    """The source of a figure's image, of a map in pixels, and whether it is wide."""
    if is_map:
        image = encode_image_data_url(encode_png(figure, dpi=100))
    else:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg")
        image = encode_image_data_url(buffer.getvalue(), "svg+xml")
    return image, bool(figure.get_figwidth() > 8)
