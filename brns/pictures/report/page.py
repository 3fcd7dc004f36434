"""A report: records in, one page out, which opens from disk and needs no network."""

import base64
import html
import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from brns.counting import Count, uncounted
from brns.metrics.measures import MEASURES
from brns.metrics.recorded import survivors
from brns.metrics.summary import Estimate, over_seeds
from brns.pictures import draw, methods, novelty_grid
from brns.pictures.methods import leaves
from brns.pictures.scene import Scene, scene
from brns.pictures.style import INK, STYLE, WALL
from brns.pictures.worlds import walled
from brns.runs.record import Record
from brns.runs.storage import replacing

NUMBERS = 300_000  # in the interactive view, 4 bytes each: what keeps the page below 10 MB
MOST_FRAMES = 101  # generations of a run in the interactive view
MOST_VIEWS = 9  # runs in the interactive view
MAP_CELLS = 40  # of the interactive view's novelty maps, along each side

FIGURES = {
    "maze": (
        "The world and what was tried",
        "2a",
        "Every behavior that was evaluated, coloured by the generation of its birth, for the first seed of each "
        "method. Solvers are ringed; where the task can replay them, the ways of at most three are drawn: the first, "
        "one halfway, and the last.",
    ),
    "novelty-map": (
        "Novelty over the behavior space",
        "2c",
        "Ω<sup>g</sup>(b) at the centres of 60 × 60 cells, after an early, a middle and the last generation that was "
        "kept, and the population that then lived (first seed of each method). Each map has its own colours: novelty "
        "has its estimator's unit, and no scale in common. They span the values outside of walls.",
    ),
    "archive": (
        "The archive",
        "2b",
        "The behaviors that the archive holds at the end, coloured by the generation in which they entered, for "
        "the first seed.",
    ),
    "coverage": (
        "Coverage",
        "3a",
        "The share of the 6 × 6 cells of the behavior space that the populations of generations 0 to g have visited.",
    ),
    "uniformity": (
        "Uniformity",
        "3f",
        "Jensen–Shannon distance (base 2, in [0, 1]; 0 is uniform) to the uniform distribution on 6 × 6 cells: of "
        "how many archive entries lie in each cell for a method with an archive, and of novelty itself at the cells' "
        "centres, made a distribution, for the others. The two are not the same quantity; the paper sets them side by "
        "side.",
    ),
    "parent-distance": (
        "Distance to the parent",
        "3b",
        "Euclidean distance in behavior space between an individual and its parent, mean over the population.",
    ),
    "age": ("Age", "3c", "Generations since birth, mean over the population."),
    "q": (
        "Q(i, j): is what was visited forgotten?",
        "3d, 3e, 4a–d",
        "The mean novelty that the novelty function of generation j gives to the population of generation i ≤ j, for "
        "three i. A search that remembers has it fall from left to right. Q has the estimator's own unit: compare "
        "shapes, not heights.",
    ),
    "eta": (
        "η",
        "4e",
        "η(i) is the mean of Q(i, j) / Q(i, i) over the kept generations j > i. Below the dotted line at 1, novelty "
        "fades once visited.",
    ),
    "kappa": (
        "κ",
        "4f",
        "κ(i) counts the kept generations j after the minimum i* of Q(i, ·) with Q(i, j) > Q(i, i*) + ε: how often "
        "what was visited became novel again. A count, so it grows with the run, and with how many states were kept.",
    ),
    "kappa-share": (
        "κ per later generation",
        "",
        "κ(i) divided by the number of kept generations after i, so that runs of different length and stride compare.",
    ),
    "signature": (
        "Spread of the paths",
        "5",
        "Standard deviation of everything evaluated along each dimension of its path's signature, truncated at level 2 "
        "(6 terms); bars are means over the runs.",
    ),
    "signature-coverage": (
        "Coverage of signature space",
        "table I",
        "The share of 3 × 3 × 5 × 20 × 15 × 10 cells of signature space that everything evaluated up to generation g "
        "has visited. The paper gives no bounds of that grid; ours follow from the arena's size.",
    ),
    "signature-uniformity": (
        "Uniformity in signature space",
        "table I",
        "Jensen–Shannon distance (base 2) from uniform of the survivors' novelty over the cells of signature space "
        "that they occupy.",
    ),
}


def write(records: Sequence[Record], out: str | os.PathLike, count: Count = uncounted) -> Path:
    """Write the report of runs of one or several methods on one task as an HTML page; returns its path.

    What was run, a table (mean, standard deviation and number of seeds for each method), every figure that the records
    can give, with the reason where they cannot, and a view of the search with a slider over generations. Needs plotly:
    `pip install 'brns[report]'`. `count` sees how far the work is.
    """
    out = Path(out)
    runs = methods(records)
    page = resources.files("brns.pictures.report").joinpath("page.html").read_text()
    steps: dict[str, Callable[[], Any]] = {name: partial(_figure, runs, name) for name in FIGURES}
    steps |= {"summary": partial(_summary, runs), "view": partial(_view, runs)}
    done = {name: step() for name, step in count(steps.items(), "Drawing", len(steps))}
    view, kept = done["view"]
    drawn = [done[name] for name in FIGURES]
    first = next(iter(runs.values()))[0]
    task, number = first.experiment["task"]["name"], sum(map(len, runs.values()))
    lead = "; ".join(f"{name}: {_seeds(seeds)}, {_generations(seeds)} generations" for name, seeds in runs.items())
    parts = {
        "title": _safe(f"Novelty search in {_words(task)}"),
        "lead": _safe(f"{number} run{'s' if number > 1 else ''}. {lead}."),
        "summary_note": "Mean over seeds ± one standard deviation (over n − 1), with the number of runs n where it is "
        "not that of the column. No statistical test was made: overlapping spreads decide nothing.",
        "summary": done["summary"],
        "watch_note": "White: the population after selection; orange: born in the generation shown; pink ring: solves "
        "the task. Point at an individual for its id, parent, age and novelty. "
        + (
            "The colours behind are novelty, from 0 to the largest value outside of walls in that generation; drag to "
            "zoom, double-click to return."
            if view["runs"][0]["maps"]
            else "Behaviors that are paths are drawn whole; the one that is pointed at stands out. No map of novelty "
            "is drawn: that takes a behavior space of two dimensions, and a state that was kept."
        ),
        "figures_note": "Lines are means over the runs of a method, bands one standard deviation over seeds to either "
        "side. Numbers in brackets are those of the figures in the BR-NS paper (doi:10.1145/3449639.3459303).",
        "figures": "".join(figure.card for figure in drawn),
        "missing": _missing("".join(figure.reason for figure in drawn)),
        "run_note": "Settings in which the methods differ are marked.",
        "settings": _settings(runs),
        "runs": _runs(runs),
        "thinned": _safe(kept),
        "data": json.dumps(view, allow_nan=False).replace("<", "\\u003c"),
        "plotly": _plotly(),
        "script": resources.files("brns.pictures.report").joinpath("view.js").read_text(),
    }
    with replacing(out) as temporary:
        temporary.write_text(re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page), encoding="utf-8")
    return out


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("the report needs plotly: pip install 'brns[report]'") from None
    return get_plotlyjs()


def _summary(runs: Mapping[str, list[Record]]) -> str:
    of_paths = scene(next(iter(runs.values()))[0].search.task).paths
    columns = {name: over_seeds(seeds, of_paths=of_paths) for name, seeds in runs.items()}
    heads = "".join(
        f'<th scope="col" class="number">{_safe(name)} <span class="meaning">n = {len(seeds)}</span></th>'
        for name, seeds in runs.items()
    )
    lines = []
    for measure in dict.fromkeys(measure for column in columns.values() for measure in column):
        title, meaning = MEASURES[measure].title, MEASURES[measure].meaning
        cells = "".join(
            f"<td class='number'>{_estimate(c.get(measure), len(runs[n]))}</td>" for n, c in columns.items()
        )
        lines.append(f'<tr><th scope="row">{_safe(title)}</th>{cells}<td class="meaning">{_safe(meaning)}</td></tr>')
    return f"<table><thead><tr><th></th>{heads}<th></th></tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _estimate(estimate: Estimate | None, runs: int) -> str:
    if estimate is None:
        return "–"
    spread = f" ± {number(estimate.deviation)}" if estimate.seeds > 1 else ""
    seeds = f" (n = {estimate.seeds})" if estimate.seeds != runs else ""
    return f'{number(estimate.mean)}<span class="spread">{spread}{seeds}</span>'


def number(value: float) -> str:
    """A number as the table prints it: whole from 100 on, three digits below."""
    return f"{value:.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"


class Drawn(NamedTuple):
    """A figure's card, or why these records cannot give it."""

    card: str = ""
    reason: str = ""


def _figure(runs: Mapping[str, list[Record]], name: str) -> Drawn:
    title, in_paper, caption = FIGURES[name]
    try:
        figure = draw(name, [record for seeds in runs.values() for record in seeds])
    except ValueError as error:
        return Drawn(reason=f"<li>{_safe(title)}: {_safe(error)}</li>")
    paper = f' <span class="number-in-paper">[{in_paper}]</span>' if in_paper else ""
    wide = " wide" if figure.get_figwidth() > 8 else ""
    return Drawn(
        f'<figure class="card{wide}" id="figure-{name}"><h3>{_safe(title)}{paper}</h3>'
        f"{_svg(figure, name, title)}<figcaption>{caption}</figcaption></figure>"
    )


def _missing(reasons: str) -> str:
    if not reasons:
        return ""
    return f'<details class="card"><summary>Figures not drawn, and why</summary><ul>{reasons}</ul></details>'


def _svg(figure: Figure, name: str, title: str) -> str:
    """A figure as an element of the page, whose ink is the page's, light or dark."""
    buffer = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", dpi=110, facecolor="none", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    used = set(re.findall(r"#([\w.-]+)[\")]", text))  # The others would repeat from figure to figure.
    text = re.sub(r' id="([^"]+)"', lambda named: named[0] if named[1] in used else "", text)
    head, body = text.split(">", 1)
    box = head[head.index("viewBox") :].split('"')[1]
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {links} viewBox="{box}" role="img" aria-label="{_safe(title)}">{body}'


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
            cells = [*facts, record.facts.get("command"), versions, record.path]
            lines.append("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in cells) + "</tr>")
    heads = ("method", "seed", "generations", "states kept", "commit", "command", "versions", "path")
    head = "".join(f'<th scope="col">{title}</th>' for title in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f"<details><summary>Every run</summary>{table}</details>"


def _view(runs: Mapping[str, list[Record]]) -> tuple[dict[str, Any], str]:
    """What the interactive view shows, and in words what it leaves out."""
    each = max(1, MOST_VIEWS // len(runs))
    shown = [(name, record) for name, seeds in runs.items() for record in seeds[:each]]
    first = shown[0][1]
    world = scene(first.search.task)
    views = [_one_view(name, record, world, len(shown)) for name, record in shown]
    total = sum(map(len, runs.values()))
    frames, full = max(len(v["generations"]) for v in views), max(len(r.generations) for _, r in shown)
    kept = (
        f"The table and the lines use every seed and every generation; η, κ, Q and the uniformity of novelty use the "
        f"generations whose state was kept ({len(first.snapshots)} of {len(first.generations)} in the first run). "
        f"The interactive view shows {len(shown)} of {total} runs (the first seeds of each method), at most {frames} "
        f"of {full} generations of a run, evenly spread, the last included; all individuals of those generations. Its "
        f"novelty maps have {MAP_CELLS} × {MAP_CELLS} cells in 256 steps between the smallest and the largest value of "
        f"the map, and a generation whose state was not kept shows the map of the last one before it. Pictures of a "
        f"single run show the first seed; lines of runs of different length end with the shortest."
    )
    walls = None if world.walls is None else _picture(world.walls if world.down else world.walls[::-1])
    facts = {k: getattr(world, k) for k in ("low", "high", "axes", "down", "start", "walls_extent")}
    facts |= {"walls": walls, "areas": [area._asdict() for area in world.areas]}
    return {"world": facts, "cells": MAP_CELLS, "runs": views}, kept


def _one_view(name: str, record: Record, world: Scene, runs: int) -> dict[str, Any]:
    mu, width = record.column("survivors.id", [0]).shape[1], 2
    if world.paths:
        width = record.search.task.behavior_space.dimension
    most = int(np.clip(NUMBERS // (runs * mu * (width + 4)), 2, MOST_FRAMES))
    generations = _thinned(record.generations, most)
    descriptor = survivors(record, "descriptor", generations)
    columns = {c: survivors(record, c, generations) for c in ("novelty", "id", "parent", "born", "solved")}
    kept = np.array(record.snapshots, int)
    maps = []
    if record.search.task.behavior_space.dimension == 2 and kept.size:
        needed = {int(kept[np.searchsorted(kept, g, side="right") - 1]) for g in generations if g >= kept[0]}
        maps = [_map(record, world, g) for g in sorted(needed)]
    return {
        "method": name,
        "seed": record.seed,
        "size": mu,
        "width": width,
        "generations": generations,
        "last": record.generations[-1],
        "place": _packed(descriptor if world.paths else world.place(descriptor), np.float32),
        "novelty": _packed(columns["novelty"], np.float32),
        "id": _packed(columns["id"], np.int32),
        "parent": _packed(columns["parent"], np.int32),
        "born": _packed(columns["born"], np.int32),
        "solved": _packed(columns["solved"], np.uint8),
        "maps": maps,
    }


def _map(record: Record, world: Scene, generation: int) -> dict[str, Any]:
    novelty = novelty_grid(record, generation, MAP_CELLS)
    low, high = float(novelty.min()), float(novelty.max())
    levels = np.round((novelty - low) / ((high - low) or 1.0) * 255)
    top = float(novelty[~walled(world, MAP_CELLS)].max()) or 1.0
    return {"generation": generation, "low": low, "high": high, "top": top, "levels": _packed(levels, np.uint8)}


def _thinned(generations: Sequence[int], most: int) -> list[int]:
    """At most so many generations, evenly spread, the first and the last included."""
    places = np.linspace(0, len(generations) - 1, min(most, len(generations))).round().astype(int)
    return [generations[i] for i in places]


def _packed(values: np.ndarray, kind: type) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def _picture(walls: np.ndarray) -> str:
    """Walls as a picture, clear where there are none; the first row is the top."""
    pixels = np.zeros((*walls.shape, 4), np.uint8)
    pixels[walls] = [*bytes.fromhex(WALL[1:]), 255]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


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
