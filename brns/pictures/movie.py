"""Movies of a run, generation by generation, and of an individual's episode."""

import itertools
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from brns.metrics.recorded import read_all_evaluated
from brns.pictures import gather_maps, records
from brns.pictures.paint_maps import paint_novelty_map, paint_population
from brns.pictures.style import add_legend_below, prepend_to_title, use_figure_style
from brns.progress import show_progress_of
from brns.runs.files import make_file_atomically
from brns.runs.record import Record
from brns.tasks.chunked import unwrap_task
from brns.tasks.scene import Filmed

MOST_FRAMES = 120
FRAMES_PER_SECOND = 6.0
DPI = 100


def write_movie(record: Record, out: str | os.PathLike) -> Path:
    """Write a movie of a run.

    A frame is a generation, at most 120 of them, spread evenly, six a second: the population on the
    novelty map of the last state that was kept until then, or alone where there is no map.

    Args:
        record: a run of 2 generations or more.
        out: a .gif.

    Returns:
        The movie's path.

    Raises:
        ValueError: for the founders alone, and another suffix.
    """
    frames, number = iterate_frames(record), min(len(record.generations), MOST_FRAMES)
    pictures = show_progress_of(frames, "Drawing", number)
    return _write_gif(Path(out), pictures, FRAMES_PER_SECOND, shared_palette=True)


def write_individual_movie(
    record: Record, out: str | os.PathLike, individual: int | Literal["best"] = "best"
) -> Path:
    """Write a movie of one individual's episode in the ant maze, or in an environment of Gymnasium
    that draws pictures.

    The task needs a method `film` (`tasks.scene.Filmed`); drawing the ant needs EGL or OSMesa, no
    display and no GPU.

    Args:
        record: a run whose search is known.
        out: a .gif.
        individual: an id, or "best": of the fittest the one whose behavior lies farthest from the
            start, or from the middle where the scene has none.

    Returns:
        The movie's path.

    Raises:
        ValueError: for a task that cannot be filmed, an unknown individual, and another suffix.
    """
    task = unwrap_task(record.search.task)
    if not isinstance(task, Filmed):
        name = type(task).__name__
        raise ValueError(f"a movie of an individual needs a task with `film`; {name} has none")
    film = task.film(find_genotype_by_id_or_best(record, individual))
    pictures = show_progress_of(film.pictures, "Drawing", film.most)
    return _write_gif(Path(out), pictures, film.per_second)


def find_genotype_by_id_or_best(record: Record, individual: int | Literal["best"]) -> np.ndarray:
    """The genotype of an individual by its id, or of the best, as `write_individual_movie` says."""
    columns = read_all_evaluated(record, ("born", "descriptor", "fitness", "failed"))
    born = columns["born"]
    if individual == "best":
        scene = records.find_scene(record)
        middle = np.mean([scene.low, scene.high], axis=0) if scene.start is None else scene.start
        places = scene.project_to_plane(columns["descriptor"])
        reach = np.linalg.norm(places - middle, axis=1)
        order = np.lexsort((reach, columns["fitness"], ~columns["failed"]))
        individual = int(order[-1])  # row i is the individual with id i
    if individual not in range(len(born)):
        raise ValueError(f"{record.path} has individuals 0 to {len(born) - 1}; got {individual}")
    return record.genotypes(np.array([individual]), born[[individual]])[0]


def iterate_frames(record: Record) -> Iterator[np.ndarray]:
    """The movie's pictures, bytes `(height, width, 3)`; a `ValueError` for the founders alone."""
    if not record.last_generation:
        raise ValueError(f"a movie needs 2 generations or more; {record.path} has founders alone")
    moments = records.pick_evenly(0, record.last_generation, MOST_FRAMES)
    states = records.find_latest_generations_with_maps(record, moments)
    with use_figure_style():
        # Numbers beside the bar get longer from frame to frame.
        layout = ConstrainedLayoutEngine(w_pad=0.25)
        figure = Figure(figsize=(6.4, 6.0), dpi=DPI, layout=layout)
        ax = figure.subplots()
    canvas, name = FigureCanvasAgg(figure), records.label_method(record)
    scene = records.find_scene(record)
    novelty = None
    for now, state in zip(moments, states, strict=True):
        living = gather_maps.gather_population(record, now, scene)
        if state is not None and (novelty is None or novelty.generation != state):
            novelty = gather_maps.gather_novelty_map(record, state)
        with use_figure_style():
            ax.clear()
            if novelty is None:
                paint_population(living, ax)
            else:
                paint_novelty_map(novelty._replace(living=living), ax)
            title = f"{name}, seed {record.seed}, generation {now} of {record.last_generation}"
            prepend_to_title(ax, title)
            if not figure.legends:
                add_legend_below(figure)
            canvas.draw()
        figure.set_layout_engine("none")  # which takes as long as all else
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _write_gif(
    out: Path, pictures: Iterable[np.ndarray], per_second: float, shared_palette: bool = False
) -> Path:
    if out.suffix != ".gif":
        raise ValueError(f"a movie is a .gif, of which ffmpeg makes an .mp4; got {out.name!r}")
    images: Iterator[Image.Image] = map(Image.fromarray, pictures)
    with make_file_atomically(out) as temporary:
        if shared_palette:  # the first's for all: half as large, as what stays is stored once
            first = next(images)
            palette = first.quantize(method=Image.Quantize.FASTOCTREE)
            quantize = partial(Image.Image.quantize, palette=palette, dither=Image.Dither.NONE)
            images = map(quantize, itertools.chain([first], images))
        duration = int(1000 / per_second)
        next(images).save(temporary, save_all=True, append_images=images, duration=duration, loop=0)
    return out
