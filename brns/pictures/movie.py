"""Movies: a run, generation after generation, and an individual in its world."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from brns.metrics.recorded import evaluated
from brns.pictures.maps import novelty_map, population
from brns.pictures.records import mapped, method, scene_of
from brns.pictures.style import house_style, legend_below, titled
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.tasks.scene import Filmed
from brns.tasks.workers import innermost

MOST_FRAMES = 120
FRAMES_PER_SECOND = 6.0
DPI = 100


def write(record: Record, out: str | os.PathLike) -> Path:
    """Write a .gif of a run, and return its path.

    A frame is a generation, at most 120 of them, spread evenly, six a second: the population on the novelty map of the
    last state that was kept until then, or alone where there is no map.
    """
    pictures = track(frames(record), "Drawing", min(len(record.generations), MOST_FRAMES))
    return _save(Path(out), pictures, FRAMES_PER_SECOND)


def write_individual(
    record: Record, out: str | os.PathLike, individual: int | Literal["best"] = "best"
) -> Path:
    """Write a .gif of one individual's episode in its world, and return its path. The ant maze can be filmed.

    `individual` is an id, or "best": of the fittest the one whose behavior lies farthest from the start, or from the
    middle where the world has none. The task needs a method `film` (`tasks.scene.Filmed`); drawing the ant needs EGL or
    OSMesa, no display and no GPU.
    """
    task = innermost(record.search.task)
    if not isinstance(task, Filmed):
        name = type(task).__name__
        raise ValueError(
            f"a movie of an individual needs a task with a method `film`; {name} has none"
        )
    film = task.film(genotype(record, individual))
    return _save(Path(out), track(film.pictures, "Drawing", film.most), film.per_second)


def genotype(record: Record, individual: int | Literal["best"]) -> np.ndarray:
    """Of an individual by its id, or of the best, as `write_individual` says."""
    names = ("born", "descriptor", "fitness")
    born, behaviors, fitness = (np.concatenate(evaluated(record, name)) for name in names)
    if individual == "best":
        world = scene_of(record)
        middle = np.mean([world.low, world.high], axis=0) if world.start is None else world.start
        reach = np.linalg.norm(world.place(behaviors) - middle, axis=1)
        individual = int(np.lexsort((reach, fitness))[-1])  # row i is the individual with id i
    if individual not in range(len(born)):
        raise ValueError(f"{record.path} has individuals 0 to {len(born) - 1}; got {individual}")
    return record.genotypes(np.array([individual]), born[[individual]])[0]


def frames(record: Record) -> Iterator[np.ndarray]:
    """The movie's pictures, `(height, width, 3)` bytes."""
    if not record.last:
        raise ValueError(
            f"a movie needs 2 generations or more; {record.path} has the founders alone"
        )
    states = record.snapshots if mapped(record) else []
    for now in np.unique(np.linspace(0, record.last, MOST_FRAMES).round().astype(int)).tolist():
        yield _frame(record, now, max((g for g in states if g <= now), default=None))


def _frame(record: Record, now: int, kept: int | None) -> np.ndarray:
    with house_style():
        figure = Figure(figsize=(6.4, 6.0), dpi=DPI, layout=ConstrainedLayoutEngine(w_pad=0.12))
        ax = figure.subplots()
        if kept is None:
            population(record, ax, now)
        else:
            novelty_map(record, ax, kept, living=now)
        titled(ax, f"{method(record)}, seed {record.seed}, generation {now} of {record.last}")
        legend_below(figure)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _save(out: Path, pictures: Iterable[np.ndarray], frames_per_second: float) -> Path:
    if out.suffix != ".gif":
        raise ValueError(f"a movie is a .gif; got {out.name!r}")
    images = map(Image.fromarray, pictures)
    duration = int(1000 / frames_per_second)
    with replacing(out) as temporary:
        next(images).save(temporary, save_all=True, append_images=images, duration=duration, loop=0)
    return out
