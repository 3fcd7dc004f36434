"""A report: records in, one page out, which opens from disk and needs no network."""

import html
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from brns.pictures import FIGURES, draw, methods
from brns.pictures.report.svg import curves, svg
from brns.pictures.report.table import summary, tests_note
from brns.pictures.report.view import view_of
from brns.pictures.scene import scene_of
from brns.pictures.source import without_search
from brns.pictures.style import NOVELTY, SOLVED
from brns.runs.facts import origin
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.runs.tracking import Track, untracked
from brns.settings import leaves
from brns.tasks.scene import Scene


def write(records: Sequence[Record], out: str | os.PathLike, track: Track = untracked) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its path.

    What was run, a table (mean, standard deviation and number of seeds for each method), every figure that the records
    can give, with the reason where they cannot, and a view of the search with a slider over generations. Needs plotly:
    `pip install 'brns[report]'`. `track` sees how far the work is.
    """
    out, plotly = Path(out), _plotly()
    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"a report is an HTML page, such as report.html; got {out}")
    if not out.parent.is_dir():
        raise ValueError(f"{out} cannot be written: there is no folder {out.parent}")
    runs = methods(records)
    steps: dict[str, Callable[[], Any]] = {
        name: partial(_figure, runs, name) for name, figure in FIGURES.items() if figure.worlds != "none"
    }
    steps |= {"summary": partial(summary, runs), "view": partial(view_of, runs)}
    done = {name: step() for name, step in track(steps.items(), "Drawing", len(steps))}
    (view, kept), table = done.pop("view"), done.pop("summary")
    parts = {
        **_heading(runs),
        **_notes(runs, mapped=bool(view["runs"][0]["maps"])),
        "summary": table,
        "warning": _warning(runs),
        "colours": _colours(scene_of(next(iter(runs.values()))[0]), mapped=bool(view["runs"][0]["maps"])),
        "scale": ", ".join(to_hex(shade) for shade in colormaps[NOVELTY](np.linspace(0, 1, 7))),
        "figures": "".join(figure.card for figure in done.values()),
        "missing": _missing("".join(figure.reason for figure in done.values())),
        "settings": _settings(runs),
        "runs": _runs(runs),
        "thinned": _safe(kept),
        "data": _json(view),
        "curves": _json({name: figure.curves for name, figure in done.items() if figure.curves}),
        "plotly": plotly,
        "script": _source("view.js"),
        "hover": _source("hover.js"),
    }
    with replacing(out) as temporary:
        filled = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _source("page.html"))
        temporary.write_text(filled, encoding="utf-8")
    return out


def _source(name: str) -> str:
    return resources.files("brns.pictures.report").joinpath(name).read_text(encoding="utf-8")


def _json(tree: Any) -> str:
    """JSON that no text within can end."""
    # A scene of the user's own may hold NumPy's or JAX's numbers.
    return json.dumps(tree, allow_nan=False, default=lambda array: np.asarray(array).tolist()).replace("<", "\\u003c")


def _warning(runs: Mapping[str, list[Record]]) -> str:
    """What to know where runs of different length stand in one table."""
    lengths = {name: _generations(seeds) for name, seeds in runs.items()}
    if len(set(lengths.values())) == 1 and " to " not in next(iter(lengths.values())):
        return ""
    told = "; ".join(f"{name}: {text} generations" for name, text in lengths.items())
    return (
        f'<p class="warning" role="note"><strong>Runs of different length stand side by side.</strong> {_safe(told)}. '
        "What grows with a run (solutions, coverage, κ) does not compare; lines end with the shortest run of a "
        "method.</p>"
    )


def _colours(world: Scene, mapped: bool) -> str:
    """A legend of the view: its dots, rings, areas and the colours behind them."""
    rings = [("start", "var(--ink)")] * (world.start is not None) + [(a.name, a.color) for a in world.areas]
    marks = [
        ("population", "background: #ffffff"),
        ("born in the generation shown", "background: #ff9f1c"),
        ("solves the task", f"border-color: {SOLVED}"),
        *((name, f"border-color: {color}") for name, color in rings),
    ]
    items = [f'<li><i style="{_safe(style)}"></i>{_safe(name)}</li>' for name, style in marks]
    if mapped:
        items.append('<li>least novel <i class="scale"></i> most novel</li>')
    return "".join(items)


def _heading(runs: Mapping[str, list[Record]]) -> dict[str, str]:
    first = next(iter(runs.values()))[0]
    number_of_runs = sum(map(len, runs.values()))
    lead = "; ".join(f"{name}: {_seeds(seeds)}, {_generations(seeds)} generations" for name, seeds in runs.items())
    return {
        "title": _safe(f"Novelty search in {_words(first.world['name'])}"),
        "lead": _safe(f"{number_of_runs} run{'s' if number_of_runs > 1 else ''}. {lead}."),
    }


def _notes(runs: Mapping[str, list[Record]], mapped: bool) -> dict[str, str]:
    missing = _safe(without_search(record for seeds in runs.values() for record in seeds))
    behind = (
        "The colours behind are novelty, by rank among the cells that can be reached in that generation; drag to zoom, "
        "double-click to return."
        if mapped
        else "Behaviors that are paths are drawn whole; the one that is pointed at stands out. No map of novelty is "
        "drawn: that takes a behavior space of two dimensions, a state that was kept, and the search."
    )
    return {
        "summary_note": "Mean over seeds ± one standard deviation (over n − 1), with the number of runs n where it is "
        f"not that of the column. {tests_note(runs)} {missing}",
        "watch_note": f"Point at an individual for its id, parent, age and novelty. {behind}",
        "figures_note": "Lines are means over the runs of a method, bands one standard deviation over seeds to either "
        "side; where that would reach below 0 of what cannot be negative, and on a logarithmic axis, the median and "
        "the quartiles, as the axis then says. Point at a curve for its values. Numbers in brackets are those of the "
        "figures in the BR-NS paper (doi:10.1145/3449639.3459303).",
        "run_note": "Settings in which the methods differ are marked.",
    }


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("the report needs plotly: pip install 'brns[report]'") from None
    return get_plotlyjs()


class Drawn(NamedTuple):
    """A figure's card, or why these records cannot give it."""

    card: str = ""
    reason: str = ""
    curves: Sequence[dict[str, Any]] = ()
    """the lines of its panels, where it is of lines"""


def _figure(runs: Mapping[str, list[Record]], name: str) -> Drawn:
    title = FIGURES[name].title
    in_paper = ", ".join(FIGURES[name].paper)
    try:
        figure = draw(name, [record for seeds in runs.values() for record in seeds])
    except ValueError as error:
        return Drawn(reason=f"<li>{_safe(title)}: {_safe(error)}</li>")
    paper = f' <span class="number-in-paper">[{in_paper}]</span>' if in_paper else ""
    wide = " wide" if figure.get_figwidth() > 8 else ""
    card = (
        f'<figure class="card{wide}" id="figure-{name}"><h3>{_safe(title)}{paper}</h3>'
        f"{svg(figure, name, title)}<figcaption>{FIGURES[name].caption}</figcaption></figure>"
    )
    return Drawn(card, curves=curves(figure) if FIGURES[name].panels in ("one", "method") else ())


def _missing(reasons: str) -> str:
    if not reasons:
        return ""
    return f'<details class="card"><summary>Figures not drawn, and why</summary><ul>{reasons}</ul></details>'


def _settings(runs: Mapping[str, list[Record]]) -> str:
    columns = [leaves(seeds[0].experiment) for seeds in runs.values()]
    heads = "".join(f'<th scope="col">{_safe(name)}</th>' for name in runs)
    lines = []
    names = list(dict.fromkeys(name for column in columns for name in column))
    groups = list(dict.fromkeys(name.split(".")[0] for name in names))
    for name in sorted(names, key=lambda name: groups.index(name.split(".")[0])):
        values = [_value(column.get(name, "–")) for column in columns]
        differs = ' class="differs"' if len(set(values)) > 1 else ""
        cells = "".join(f"<td>{_safe(value)}</td>" for value in values)
        lines.append(f'<tr{differs}><th scope="row">{_safe(name)}</th>{cells}</tr>')
    return f'<table><thead><tr><th scope="col">setting</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'


def _value(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."


def _runs(runs: Mapping[str, list[Record]]) -> str:
    lines = []
    for name, seeds in runs.items():
        for record in seeds:
            versions = ", ".join(f"{k} {v}" for k, v in record.versions.items())
            facts = (name, record.seed, record.generations[-1], len(record.snapshots), record.facts.get("commit"))
            cells = [*facts, record.facts.get("command"), versions, f"{record.path} {origin(record.facts)}".strip()]
            lines.append("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in cells) + "</tr>")
    heads = ("method", "seed", "generations", "states kept", "commit", "command", "versions", "path")
    head = "".join(f'<th scope="col">{title}</th>' for title in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f"<details><summary>Every run</summary>{table}</details>"


def _seeds(seeds: Sequence[Record]) -> str:
    return f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {seeds[0].seed}"


def _generations(seeds: Sequence[Record]) -> str:
    lengths = sorted({record.generations[-1] for record in seeds})
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


def _words(name: str) -> str:
    """DeceptiveMaze as the deceptive maze."""
    return "the " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _safe(text: Any) -> str:
    return html.escape(str(text))
