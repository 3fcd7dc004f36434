"""Pictures of one run in its world: behaviors, archive, novelty and population."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke
from PIL import Image, ImageDraw

from brns.core import Box
from brns.metrics import coverage as coverages
from brns.metrics.elites import fittest
from brns.metrics.recorded import evaluated, kept
from brns.metrics.uniformity import novelty_of_cells
from brns.pictures.records import archive_entries, least_fitness, scene_of
from brns.pictures.style import (
    CELLS,
    FLOOR,
    NOVELTY,
    SOLVED,
    START,
    TIME,
    WALL,
    axes,
    by_rank,
    colorbar,
)
from brns.runs.record import Record
from brns.tasks.scene import Scene, Traced, plain
from brns.tasks.workers import innermost

MAP_CELLS = 60  # cells of a novelty map along each side
PLACES = 8  # of a cell along each side, at which it is looked for walls
REACHED = 2  # marks the pixels that are not cut off from the start
MARGIN = 0.02  # of the world's width beside it, so that points at its border are whole
MOST_PATHS = 1500  # more lines than that cover each other
HALO = [withStroke(linewidth=3.4, foreground="white")]


def maze(record: Record, ax: Axes | None = None) -> Axes:
    """Every behavior that was evaluated, of paths at most 1500, coloured by generation. Solutions are ringed; ways of
    three (the first, one halfway, the last) are drawn where the task can replay them. First seed of each method."""
    ax = axes(ax)
    world = scene_of(record)
    names = ("descriptor", "born", "solved")
    behaviors, born, solved = (np.concatenate(evaluated(record, name)) for name in names)
    most = min(len(behaviors), MOST_PATHS) if world.paths else len(behaviors)
    spread = np.linspace(0, len(behaviors) - 1, most).astype(int)
    _draw_behaviors(ax, world, behaviors[spread], born[spread], "generation of birth")
    if solved.any():
        x, y = world.place(behaviors[solved]).T
        ring: Any = {"facecolor": "none", "edgecolor": SOLVED, "lw": 0.9, "rasterized": True}
        ax.scatter(x, y, s=24, label="solutions", zorder=4, **ring)
        task = record.known_search and innermost(record.search.task)
        if isinstance(task, Traced):
            found = record.solutions().genotype
            some = np.unique(np.linspace(0, len(found) - 1, 3).round().astype(int))
            for way in np.asarray(task.trajectory(found[some]))[..., :2]:
                ax.plot(
                    *way.T,
                    color=SOLVED,
                    lw=1.0,
                    zorder=4,
                    label="way of a solution",
                    path_effects=HALO,
                )
    drawn = f"{most} of " if most < len(behaviors) else ""
    solutions = "1 solution" if solved.sum() == 1 else f"{solved.sum()} solutions"
    told = f"{drawn}{len(behaviors)} behaviors in {record.last} generations, {solutions}"
    ax.set_title(told + beyond(world, behaviors))
    return ax


def archive(record: Record, ax: Axes | None = None) -> Axes:
    """The behaviors in the archive at the end, coloured by the generation in which they entered. First seed."""
    ax = axes(ax)
    generation = kept(record, "the archive's picture")[-1]
    entries = archive_entries(record, generation)
    if entries is None:
        raise ValueError(
            f"{record.path} has no archive: its estimator is {record.experiment['estimator']['name']}"
        )
    descriptor, entered = entries
    world = scene_of(record)
    _draw_behaviors(ax, world, descriptor, entered, "generation of entry")
    ax.set_title(
        f"archive of {len(descriptor)} after generation {generation}{beyond(world, descriptor)}"
    )
    return ax


def novelty_map(
    record: Record, ax: Axes | None = None, generation: int | None = None, living: int | None = None
) -> Axes:
    """Novelty after a generation at the centres of 60 × 60 cells, and the population that then lived, for an early, a
    middle and the last state kept. Colours are ranks among the cells that can be reached. First seed of each method.

    `generation` is one whose state is kept, by default the last; `living` is the population's, where it is another.
    """
    ax = axes(ax)
    generation = kept(record, "a novelty map")[-1] if generation is None else generation
    world, novelty = scene_of(record), novelty_grid(record, generation)
    over = over_box(world, record.behavior_space)
    reached = open_cells(over, len(novelty))
    scale = by_rank(novelty[reached])
    novelty = np.where(reached, novelty, np.nan)
    shown = ax.imshow(
        novelty, NOVELTY, scale, origin="lower", extent=over.extent, interpolation="nearest"
    )
    colorbar(ax, shown, "novelty, coloured by rank")
    draw_world(ax, world)
    alive = record.column("survivors.descriptor", [generation if living is None else living])[0]
    ax.scatter(
        *world.place(alive).T,
        s=15,
        facecolor="white",
        edgecolor="black",
        lw=0.7,
        label="population",
        zorder=4,
    )
    ax.set_title(f"novelty after generation {generation}{beyond(world, alive)}")
    return ax


def novelty_grid(
    record: Record, generation: int, cells: int = MAP_CELLS
) -> Float[np.ndarray, "y x"]:
    """Omega^g at the centres of `cells` x `cells` cells over a planar behavior space; row 0 is at the lowest y."""
    _refuse_unless_planar(record, "a novelty map")
    return novelty_of_cells(record, (cells, cells), generation).reshape(cells, cells).T


def elites(record: Record, ax: Axes | None = None) -> Axes:
    """The fitness of the fittest in each of 20 × 20 cells of the behavior space. First seed of each method.

    Errors: `ValueError` where that space is no plane, and where all have one fitness.
    """
    _refuse_unless_planar(record, "a map of elites")
    least_fitness([record], "a map of elites")
    ax, world, found = axes(ax), scene_of(record), fittest(record, CELLS)
    fitness = np.full(CELLS, np.nan)
    fitness[tuple(coverages.cells(found["descriptor"], record.behavior_space, CELLS).T)] = found[
        "fitness"
    ]
    extent = over_box(world, record.behavior_space).extent
    shown = ax.imshow(fitness.T, NOVELTY, origin="lower", extent=extent, interpolation="nearest")
    colorbar(ax, shown, "fitness")
    draw_world(ax, world)
    ax.set_title(f"elites of {len(found['id'])} of {fitness.size} cells")
    return ax


def population(record: Record, ax: Axes | None = None, generation: int | None = None) -> Axes:
    """The survivors of a generation, by default the last, coloured by the novelty by which they were selected."""
    ax = axes(ax)
    generation = record.last if generation is None else generation
    world = scene_of(record)
    descriptors = record.column("survivors.descriptor", [generation])[0]
    novelty = record.column("survivors.novelty", [generation])[0]
    colors: Any = {"cmap": NOVELTY, "norm": by_rank(novelty)}
    if world.paths:
        draw_paths(ax, world, descriptors, novelty, lw=0.9, alpha=0.9, **colors)
    x, y = world.place(descriptors).T
    shown = ax.scatter(
        x, y, c=novelty, s=22, edgecolor="black", lw=0.5, label="population", zorder=4, **colors
    )
    colorbar(ax, shown, "novelty, coloured by rank")
    draw_world(ax, world)
    ax.set_title(f"population of generation {generation}{beyond(world, descriptors)}")
    return ax


def _refuse_unless_planar(record: Record, what: str) -> None:
    dimension = record.behavior_space.dimension
    if dimension != 2:
        raise ValueError(
            f"{what} needs a behavior space of 2 dimensions; {record.path} has {dimension}"
        )


def over_box(world: Scene, space: Box) -> Scene:
    """The scene over the behavior space alone, whose cells a map has: a task may show more or less of its world."""
    box = plain(space)
    return world._replace(low=box.low, high=box.high)


def beyond(world: Scene, descriptors: Float[np.ndarray, "n d"]) -> str:
    """How many behaviors lie outside the picture, in words; empty where none do."""
    places = world.place(descriptors)
    outside = ((places < np.array(world.low)) | (places > np.array(world.high))).any(axis=1).sum()
    return f", {outside} outside" if outside else ""


def open_cells(world: Scene, cells: int) -> Bool[np.ndarray, "y x"]:
    """The cells of a map in which any place can be reached: out of walls and, where there is a start, not cut off."""
    if world.walls is None:
        return np.ones((cells, cells), bool)
    free = ~world.walls
    if world.start is not None:
        row, column = _pixels(world, *world.start)
        image = Image.fromarray(np.uint8(free)).copy()
        ImageDraw.floodfill(
            image, (int(column), int(row)), REACHED
        )  # importing SciPy's takes longer than this
        free = np.asarray(image) == REACHED
    n = cells * PLACES
    x, y = (
        a + (np.arange(n) + 0.5) / n * (b - a) for a, b in zip(world.low, world.high, strict=True)
    )
    return (
        free[np.ix_(*_pixels(world, x, y))].reshape(cells, PLACES, cells, PLACES).any(axis=(1, 3))
    )


def _pixels(world: Scene, x: Any, y: Any) -> tuple[Any, Any]:
    """The rows and columns of the walls' pixels in which places lie."""
    assert world.walls is not None
    left, right, bottom, top = world.walls_extent
    height, width = world.walls.shape
    row = np.clip((np.asarray(y) - bottom) / (top - bottom) * height, 0, height - 1).astype(int)
    column = np.clip((np.asarray(x) - left) / (right - left) * width, 0, width - 1).astype(int)
    return row, column


def draw_world(ax: Axes, world: Scene) -> None:
    """The world's floor, walls, areas and start, with room at its border for whole points."""
    ax.set_facecolor(FLOOR)
    if world.walls is not None:
        image, color = np.where(world.walls, 1.0, np.nan), ListedColormap([WALL])
        ax.imshow(
            image,
            origin="lower",
            extent=world.walls_extent,
            cmap=color,
            interpolation="nearest",
            zorder=2,
        )
    for area in world.areas:
        place = (area.x, area.y)
        ax.add_patch(
            Circle(
                place, area.radius, fill=False, ec=area.color, lw=2.0, zorder=3, path_effects=HALO
            )
        )
        ax.plot(
            [], [], "o", mfc="none", mec=area.color, mew=2.0, ms=8, ls="", label=area.name
        )  # for the legend
    if world.start is not None:
        ring: Any = {"mfc": "none", "mec": START, "mew": 1.8, "ms": 8, "path_effects": HALO}
        ax.plot(*world.start, "o", ls="", label="start", zorder=5, **ring)
    low, high = np.array(world.low), np.array(world.high)
    (left, bottom), (right, top) = low - MARGIN * (high - low), high + MARGIN * (high - low)
    ax.set(xlim=(left, right), ylim=(top, bottom) if world.down else (bottom, top))
    ax.set(
        xlabel=world.axes[0],
        ylabel=world.axes[1],
        aspect="auto" if world.walls is None else "equal",
    )


def _draw_behaviors(
    ax: Axes,
    world: Scene,
    behaviors: Float[np.ndarray, "n d"],
    generations: Int[np.ndarray, " n"],
    label: str,
) -> None:
    if world.paths:
        shown: Any = draw_paths(ax, world, behaviors, generations, cmap=TIME, lw=0.6, alpha=0.7)
    else:
        x, y = world.place(behaviors).T
        shown = ax.scatter(x, y, c=generations, cmap=TIME, s=7, lw=0, alpha=0.9, rasterized=True)
    shown.set_clim(0, max(generations.max(), 1))
    colorbar(ax, shown, label).ax.locator_params("y", integer=True)
    draw_world(ax, world)


def draw_paths(
    ax: Axes, world: Scene, descriptors: np.ndarray, values: np.ndarray, **style: Any
) -> LineCollection:
    """Behaviors that are paths, from the world's start on, coloured by values."""
    lines = LineCollection(
        list(with_start(world, descriptors)), array=values, rasterized=True, **style
    )
    ax.add_collection(lines)
    return lines


def with_start(
    world: Scene, descriptors: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n times 2"]:
    """Paths from the world's start on, where there is one."""
    points = descriptors.reshape(len(descriptors), -1, 2)
    return points if world.start is None else np.insert(points, 0, world.start, axis=1)
