"""Pictures of one run in its scene: each function draws what the one of `gather` found."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

from brns.pictures import style
from brns.pictures.gather_maps import Archived, Behaviors, Elites, Lineage, Living, NoveltyMap
from brns.pictures.records import pick_evenly
from brns.pictures.scenes import format_count_outside, prepend_start_to_paths
from brns.pictures.style import add_colorbar, compute_size_factor, make_rank_norm
from brns.tasks.scene import Scene

MARGIN = 0.02
"""of the scene's width beside it, so that points at its border are whole"""
MOST_PATHS = 1500
"""more lines than that cover each other"""


def paint_behaviors(data: Behaviors, ax: Axes) -> None:
    scene, number, solved = data.scene, len(data.born), data.solved
    some = pick_evenly(0, number - 1, min(number, MOST_PATHS) if scene.paths else number)
    descriptor, born = data.descriptor[some], data.born[some]
    _draw_scene_and_behaviors(ax, scene, descriptor, born, "generation of birth")
    size = compute_size_factor(ax)
    if solved.any():
        x, y = scene.project_to_plane(data.descriptor[solved]).T
        ring: Any = {"facecolor": "none", "edgecolor": style.SOLVED, "lw": 0.9 * size}
        ax.scatter(x, y, s=24 * size**2, label="solution", zorder=4, rasterized=True, **ring)
    for path in data.paths:
        way: Any = {"color": style.SOLVED, "lw": size, "zorder": 4, "path_effects": make_halo(ax)}
        ax.plot(*path.T, label="path of a solution", **way)
    drawn = f"{len(some)} of " if len(some) < number else ""
    solutions = "1 solution" if solved.sum() == 1 else f"{solved.sum()} solutions"
    outside = format_count_outside(scene, data.descriptor)
    ax.set_title(f"{drawn}{number} behaviors, {solutions}{outside}")


def paint_lineage(data: Lineage, ax: Axes) -> None:
    scene, size = data.scene, compute_size_factor(ax)
    _draw_scene_and_behaviors(ax, scene, data.descriptor, data.born, "generation of birth", 30.0)
    some = pick_evenly(0, len(data.others) - 1, min(len(data.others), MOST_PATHS))
    others = scene.project_to_plane(data.others[some])
    faint: Any = {"s": 7 * size**2, "lw": 0, "color": style.WALL, "alpha": 0.25}
    ax.scatter(*others.T, label="evaluated", zorder=0.5, rasterized=True, **faint)
    x, y = scene.project_to_plane(data.descriptor).T
    if not scene.paths:
        ax.plot(x, y, color=style.INK, lw=0.8 * size, zorder=3, label="from parent to child")
    words = "solution" if data.solved[-1] else "individual"
    ring: Any = {"mfc": "none", "mec": style.SOLVED, "ms": 8 * size, "mew": 1.5 * size, "zorder": 6}
    ax.plot(x[-1:], y[-1:], "o", ls="", label=words, path_effects=make_halo(ax), **ring)
    generations = "1 ancestor" if len(data.id) == 2 else f"{len(data.id) - 1} ancestors"
    outside = format_count_outside(scene, data.descriptor)
    ax.set_title(f"{words} {data.id[-1]} and its {generations}{outside}")


def paint_archive(data: Archived, ax: Axes) -> None:
    _draw_scene_and_behaviors(ax, data.scene, data.descriptor, data.entered, "generation of entry")
    number = len(data.descriptor)
    outside = format_count_outside(data.scene, data.descriptor)
    ax.set_title(f"archive of {number} after generation {data.generation}{outside}")


def paint_novelty_map(data: NoveltyMap, ax: Axes) -> None:
    ranks = make_rank_norm(data.novelty[np.isfinite(data.novelty)])
    image = ax.imshow(data.novelty, style.NOVELTY, ranks, **_make_imshow_options(data.extent))
    add_colorbar(ax, image, "novelty, by rank")
    draw_scene(ax, data.scene)
    people = data.living.descriptor
    size = compute_size_factor(ax)
    dot: Any = {"s": 15 * size**2, "lw": 0.7 * size, "facecolor": "white", "edgecolor": "black"}
    ax.scatter(*data.scene.project_to_plane(people).T, label="population", zorder=4, **dot)
    outside = format_count_outside(data.scene, people)
    ax.set_title(f"novelty after generation {data.generation}{outside}")


def paint_elites(data: Elites, ax: Axes) -> None:
    image = ax.imshow(data.fitness, style.NOVELTY, **_make_imshow_options(data.extent))
    add_colorbar(ax, image, "fitness of the elite")
    draw_scene(ax, data.scene)
    height, width = data.fitness.shape
    number = np.isfinite(data.fitness).sum()
    ax.set_title(f"elites of {number} of {width} × {height} cells")


def paint_population(data: Living, ax: Axes) -> None:
    scene, novelty = data.scene, data.novelty
    colors: Any = {"cmap": style.NOVELTY, "norm": make_rank_norm(novelty)}
    if scene.paths:
        _draw_paths(ax, scene, data.descriptor, novelty, lw=0.9, alpha=0.9, **colors)
    x, y = scene.project_to_plane(data.descriptor).T
    size = compute_size_factor(ax)
    dot: Any = {"s": 22 * size**2, "lw": 0.5 * size, "edgecolor": "black", **colors}
    points = ax.scatter(x, y, c=novelty, label="population", zorder=4, **dot)
    add_colorbar(ax, points, "novelty, by rank")
    draw_scene(ax, scene)
    outside = format_count_outside(scene, data.descriptor)
    ax.set_title(f"population of generation {data.generation}{outside}")


def _make_imshow_options(extent: tuple[Any, ...]) -> dict[str, Any]:
    """How `imshow` draws cells whose first row is the lowest."""
    return {"origin": "lower", "extent": extent, "interpolation": "nearest"}


def make_halo(ax: Axes) -> list[Any]:
    """A white edge that keeps a line apart from what is below it."""
    return [withStroke(linewidth=3.4 * (0.5 + 0.5 * compute_size_factor(ax)), foreground="white")]


def draw_scene(ax: Axes, scene: Scene) -> None:
    """The scene's floor, walls, areas and start, with room at its border for whole points."""
    ax.set_facecolor(style.FLOOR)
    if scene.walls is not None:
        image, color = np.where(scene.walls, 1.0, np.nan), ListedColormap([style.WALL])
        ax.imshow(image, cmap=color, zorder=2, **_make_imshow_options(scene.walls_extent))
    size = 0.5 + 0.5 * compute_size_factor(ax)
    ring: Any = {"mfc": "none", "mew": 2.0 * size, "ms": 8 * size, "ls": ""}
    for area in scene.areas:  # above all else, since they are what there is to reach
        edge: Any = {"ec": area.color, "lw": 2.0 * size, "path_effects": make_halo(ax)}
        ax.add_patch(Circle((area.x, area.y), area.radius, fill=False, zorder=5, **edge))
        ax.plot([], [], "o", mec=area.color, label=area.name, **ring)  # for the legend
    if scene.start is not None:
        ring |= {"mec": style.START, "label": "start", "path_effects": make_halo(ax)}
        ax.plot(*scene.start, "o", zorder=6, **ring)
    low, high = np.array(scene.low), np.array(scene.high)
    (left, bottom), (right, top) = low - MARGIN * (high - low), high + MARGIN * (high - low)
    ax.set(xlim=(left, right), ylim=(top, bottom) if scene.down else (bottom, top))
    ax.set(xlabel=scene.axes[0], ylabel=scene.axes[1])
    ax.set_aspect("auto" if scene.walls is None else "equal")


def _draw_scene_and_behaviors(
    ax: Axes, scene: Scene, behaviors: np.ndarray, births: np.ndarray, label: str, area: float = 7.0
) -> None:
    if scene.paths:
        look: Any = {"cmap": style.TIME, "lw": 0.6, "alpha": 0.7}
        artist: Any = _draw_paths(ax, scene, behaviors, births, **look)
    else:
        x, y = scene.project_to_plane(behaviors).T
        dot: Any = {"lw": 0, "alpha": 0.9, "rasterized": True}
        size = area * compute_size_factor(ax) ** 2
        artist = ax.scatter(x, y, size, births, cmap=style.TIME, **dot)
    artist.set_clim(0, max(births.max(), 1))
    add_colorbar(ax, artist, label).ax.locator_params("y", integer=True)
    draw_scene(ax, scene)


def _draw_paths(
    ax: Axes, scene: Scene, descriptors: np.ndarray, values: np.ndarray, **look: Any
) -> LineCollection:
    """Behaviors that are paths, from the scene's start on, coloured by values."""
    paths = list(prepend_start_to_paths(scene, descriptors))
    lines = LineCollection(paths, array=values, rasterized=True, **look)
    ax.add_collection(lines)
    return lines
