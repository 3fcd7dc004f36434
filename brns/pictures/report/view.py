"""What the interactive view of a report shows, as data for its script."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from brns.metrics.recorded import survivors
from brns.pictures import novelty_grid
from brns.pictures.scene import scene_of
from brns.pictures.style import WALL, by_rank
from brns.pictures.worlds import open_cells, over_box
from brns.runs.record import Record
from brns.tasks.scene import Scene

NUMBERS = 300_000  # 4 bytes each: what keeps the page below 10 MB
MOST_FRAMES = 101  # generations of a run
MOST_VIEWS = 9  # runs
MAP_CELLS = 40  # of novelty's maps, along each side


def view_of(runs: Mapping[str, list[Record]]) -> tuple[dict[str, Any], str]:
    """What the interactive view shows, and in words what it leaves out."""
    each = max(1, MOST_VIEWS // len(runs))
    shown = [(name, record) for name, seeds in runs.items() for record in seeds[:each]]
    first = shown[0][1]
    world = scene_of(first)
    views = [_one_view(name, record, world, len(shown)) for name, record in shown]
    total = sum(map(len, runs.values()))
    frames = max(len(view["generations"]) for view in views)
    full = max(len(record.generations) for _, record in shown)
    kept = (
        f"The table and the lines use every seed and every generation; η, κ, Q and the uniformity of novelty use the "
        f"generations whose state was kept ({len(first.snapshots)} of {len(first.generations)} in the first run). "
        f"The interactive view shows {len(shown)} of {total} runs (the first seeds of each method), at most {frames} "
        f"of {full} generations of a run, evenly spread, the last included; all individuals of those generations. Its "
        f"novelty maps have {MAP_CELLS} × {MAP_CELLS} cells in 255 steps of rank, and a generation whose state was not "
        f"kept shows the map of the last one before it. Pictures of a "
        f"single run show the first seed; lines of runs of different length end with the shortest."
    )
    walls = None if world.walls is None else _picture(world.walls if world.down else world.walls[::-1])
    facts = {k: getattr(world, k) for k in ("low", "high", "axes", "down", "start", "walls_extent")}
    facts |= {"walls": walls, "areas": [area._asdict() for area in world.areas]}
    return {"world": facts, "cells": MAP_CELLS, "runs": views}, kept


def _one_view(name: str, record: Record, world: Scene, runs: int) -> dict[str, Any]:
    mu = record.column("survivors.id", [0]).shape[1]
    width = 2
    if world.paths:
        width = record.behavior_space.dimension
    most = int(np.clip(NUMBERS // (runs * mu * (width + 4)), 2, MOST_FRAMES))
    generations = _thinned(record.generations, most)
    descriptor = survivors(record, "descriptor", generations)
    columns = {c: survivors(record, c, generations) for c in ("novelty", "id", "parent", "born", "solved")}
    kept = np.array(record.snapshots, int)
    maps = []
    if record.behavior_space.dimension == 2 and kept.size and record.known_search is not None:
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
    """A map of novelty: a cell's rank among those that can be reached, from 1 to 255, and 0 for the others."""
    over = over_box(world, record.behavior_space)
    novelty, reached = novelty_grid(record, generation, MAP_CELLS), open_cells(over, MAP_CELLS)
    scale = by_rank(novelty[reached])
    levels = np.where(reached, 1 + np.round(254 * np.asarray(scale(novelty), np.float64)), 0)
    quarters = np.asarray(scale.inverse(np.linspace(0, 1, 5)), np.float64)
    return {
        "generation": generation,
        "low": over.low,
        "high": over.high,
        "quarters": quarters.tolist(),
        "levels": _packed(levels, np.uint8),
    }


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
