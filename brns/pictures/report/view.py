"""The search, generation by generation, as data for the page's script."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib import colormaps
from PIL import Image, ImageColor

from brns.pictures import gather_maps
from brns.pictures.gather_maps import Living, NoveltyMap
from brns.pictures.records import (
    can_draw_novelty_map,
    find_latest_generations_with_maps,
    find_scene,
    pick_evenly,
)
from brns.pictures.scenes import prepend_start_to_paths
from brns.pictures.style import NOVELTY, WALL, encode_image_data_url, make_rank_norm
from brns.runs.record import Record
from brns.tasks.scene import Scene, make_plain_scene

NUMBERS = 300_000
"""of all individuals together: they keep the page small"""
MOST_FRAMES = 101
"""generations"""
MAP_CELLS = 40
"""of novelty's maps, along each side"""
LEVELS = 256
"""of colour in a map; 0 is a cell that cannot be reached"""


def choose_generations_of_longest_run(records: Sequence[Record]) -> list[int]:
    """Generations of the longest run, evenly spread, the first and the last included."""
    last = max(record.last_generation for record in records)
    sizes = [record.column("survivors.descriptor", [0]).shape[1:] for record in records]
    numbers = sum(individuals * (dimension + 4) for individuals, dimension in sizes)
    return pick_evenly(0, last, min(max(NUMBERS // numbers, 2), MOST_FRAMES))


def gather_view(runs: Mapping[str, Record]) -> dict[str, Any]:
    """What the page's script draws: the scene, the generations, and a panel for each method."""
    scene = find_scene(next(iter(runs.values())))
    generations = choose_generations_of_longest_run(list(runs.values()))
    panels = []
    for name, record in runs.items():
        title = f"{name}, seed {record.seed}"
        panels.append({"title": title, **_gather_panel(record, scene, generations)})
    return {"scene": _describe_scene(scene), "generations": generations, "panels": panels}


def _gather_panel(record: Record, scene: Scene, generations: Sequence[int]) -> dict[str, Any]:
    """What is seen of a run in each generation; in those that it does not have, its last."""
    now = np.minimum(generations, record.last_generation).tolist()
    living = [gather_maps.gather_population(record, g, scene) for g in now]
    panel = {"last": record.last_generation, **_encode_individuals(living)}
    if can_draw_novelty_map(record):
        until = find_latest_generations_with_maps(record, now)
        layers = sorted({g for g in until if g is not None})
        maps = [gather_maps.gather_novelty_map(record, g, cells=MAP_CELLS) for g in layers]
        panel["map"] = {
            "cells": MAP_CELLS,
            "extent": make_plain_scene(record.behavior_space).extent,
            "of": [-1 if g is None else layers.index(g) for g in until],
            "levels": [_encode(compute_novelty_ranks(each), "u1") for each in maps],
        }
    return panel


def _encode_individuals(living: Sequence[Living]) -> dict[str, Any]:
    """Every individual once, and for each generation the rows and novelty of who lived."""
    scene = living[0].scene
    ids = np.concatenate([people.id for people in living])
    _, first = np.unique(ids, return_index=True)
    ids = ids[first]
    columns = {}
    for name in ("born", "parent", "solved", "descriptor"):
        columns[name] = np.concatenate([getattr(people, name) for people in living])[first]
    places = scene.project_to_plane(columns["descriptor"])
    rows = [np.searchsorted(ids, people.id) for people in living]
    people = {
        "id": _encode(ids, "<i4"),
        "born": _encode(columns["born"], "<i4"),
        "parent": _encode(columns["parent"], "<i4"),
        "solved": _encode(columns["solved"], "u1"),
        "place": _encode(places, "<f4"),
        "rows": [_encode(each, "<i4") for each in rows],
        "novelty": [_encode(each.novelty, "<f4") for each in living],
    }
    if scene.paths:
        paths = prepend_start_to_paths(scene, columns["descriptor"])
        people |= {"paths": _encode(paths, "<f4"), "steps": paths.shape[1]}
    return people


def compute_novelty_ranks(novelty_map: NoveltyMap) -> UInt8[np.ndarray, "y x"]:
    """Novelty as ranks from 1 to 255 among the cells in reach, 0 for others; the top first."""
    novelty = novelty_map.novelty
    reached = np.isfinite(novelty)
    ranks = make_rank_norm(novelty[reached])(np.where(reached, novelty, 0.0))
    levels = 1 + np.round((LEVELS - 2) * np.float64(ranks))
    levels = np.where(reached, levels, 0).astype(np.uint8)
    return levels if novelty_map.scene.down else levels[::-1]


def _describe_scene(scene: Scene) -> dict[str, Any]:
    """The scene for the page's script; walls are an image whose first row is the top."""
    walls = None
    if scene.walls is not None:
        rows = scene.walls if scene.down else scene.walls[::-1]
        color = np.array([*ImageColor.getrgb(WALL), 255], np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(rows[..., None] * color).save(buffer, format="png", optimize=True)
        walls = {"image": encode_image_data_url(buffer.getvalue()), "extent": scene.walls_extent}
    colors = np.zeros((LEVELS, 4))
    colors[1:] = 255 * colormaps[NOVELTY](np.linspace(0, 1, LEVELS - 1))
    return {
        "low": scene.low,
        "high": scene.high,
        "axes": scene.axes,
        "down": scene.down,
        "square": scene.walls is not None,
        "walls": walls,
        "start": scene.start,
        "areas": scene.areas,
        "colors": _encode(colors, "u1"),
    }


def _encode(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()
