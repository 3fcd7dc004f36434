"""Movies: a run, generation after generation, and an individual in its world."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image
from scipy.spatial.distance import cdist

from brns.metrics.recorded import evaluated
from brns.pictures import method, novelty_map, population
from brns.pictures.scene import scene_of
from brns.pictures.source import search_for
from brns.pictures.style import FLOOR, INK, NOVELTY, SOLVED, START, STYLE, WALL, legend_below, titled
from brns.runs.record import Record
from brns.runs.storage import replacing
from brns.runs.tracking import Track, untracked
from brns.tasks.scene import COLOURS, Filmed
from brns.workers import innermost

MOST_FRAMES = 120


def write(
    record: Record,
    out: str | os.PathLike,
    frames_per_second: float = 6.0,
    track: Track = untracked,
) -> Path:
    """Write a .gif (Pillow) or an .mp4 (imageio: `pip install 'brns[video]'`) and return its path.

    A frame is a generation, at most 120 of them, spread evenly, the last included: the population on the novelty map of
    the last state that was kept until then, or the population alone where there is no such map. Novelty's colours are
    ranks within each frame, as its unit has no scale. `track` sees how far the work is.
    """
    out = _checked(out)
    if not frames_per_second > 0:
        raise ValueError(f"a movie needs more than 0 frames per second; got {frames_per_second}")
    pictures = track(frames(record), "Drawing", min(len(record.generations), MOST_FRAMES))
    _save(out, pictures, frames_per_second, partial(_painted, palette=_palette()))
    return out


def write_individual(
    record: Record,
    out: str | os.PathLike,
    individual: int | Literal["best"] = "best",
    track: Track = untracked,
) -> Path:
    """Write a .gif or .mp4 of one individual's episode in its world, and return its path. The ant maze can be filmed.

    `individual` is an id, or "best": of those with the highest fitness the one whose behavior lies farthest from the
    start, or from the middle where the world has none. Any task with a method `film` will do (`tasks.scene.Filmed`);
    drawing the ant needs EGL or OSMesa, no display and no GPU. `track` is told the pictures of a whole episode, of
    which one that ends early has fewer.
    """
    out = _checked(out)
    task = innermost(search_for(record, "a movie of an individual").task)
    if not isinstance(task, Filmed):
        raise ValueError(
            f"a movie of an individual needs a task with a method `film`; {type(task).__name__} has none (brns.AntMaze "
            "is one that has)"
        )
    film = task.film(_genotype(record, individual))
    _save(out, track(film.pictures, "Drawing", film.most), film.per_second, _in_its_own_colours)
    return out


def _genotype(record: Record, individual: int | Literal["best"]) -> np.ndarray:
    who, born = (np.concatenate(evaluated(record, column)) for column in ("id", "born"))
    if individual == "best":
        world = scene_of(record)
        middle = np.mean([world.low, world.high], axis=0) if world.start is None else world.start
        reach = np.linalg.norm(world.place(np.concatenate(evaluated(record, "descriptor"))) - middle, axis=1)
        row = np.lexsort((reach, np.concatenate(evaluated(record, "fitness"))))[-1]
    else:
        rows = np.flatnonzero(who == individual)
        if not rows.size:
            raise ValueError(f"{record.path} has individuals 0 to {who.max()}; got {individual}")
        row = rows[0]
    return record.genotypes(who[[row]], born[[row]])[0]


def _checked(out: str | os.PathLike) -> Path:
    out = Path(out)
    if out.suffix not in (".gif", ".mp4"):
        raise ValueError(f"a movie is a .gif or an .mp4; got {out.name!r}")
    return out


def frames(record: Record, most: int = MOST_FRAMES) -> Iterator[np.ndarray]:
    """The movie's pictures, `(height, width, 3)` bytes."""
    generations = record.generations
    if len(generations) < 2:
        raise ValueError(
            f"a movie needs 2 generations or more, and {record.path} has {len(generations)}; let it run on "
            "(brns resume)"
        )
    mapped = record.known_search is not None and record.behavior_space.dimension == 2
    kept = np.array(record.snapshots if mapped else [], int)
    for i in np.unique(np.linspace(0, len(generations) - 1, most).round().astype(int)):
        now = generations[i]
        until = kept[kept <= now]
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 6.0), dpi=100, layout="constrained")
            ax = figure.subplots()
            if until.size:
                novelty_map(record, ax, int(until[-1]), living=now)
            else:
                population(record, ax, now)
            below = f"\n{ax.get_title(loc='left')}" if until.size else ""
            titled(ax, f"{method(record)}, seed {record.seed}, generation {now} of {generations[-1]}{below}")
            legend_below(figure)
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _save(
    out: Path, pictures: Iterable[np.ndarray], frames_per_second: float, paint: Callable[[np.ndarray], Image.Image]
) -> None:
    """`paint` gives a picture the 256 colours that a .gif has; an .mp4 has them all."""
    with replacing(out) as temporary:
        if out.suffix == ".mp4":
            _write_mp4(temporary, pictures, frames_per_second)
        else:
            _write_gif(temporary, map(paint, pictures), frames_per_second)


def _write_gif(out: Path, pictures: Iterable[Image.Image], frames_per_second: float) -> None:
    first, *others = pictures
    first.save(out, save_all=True, append_images=others, duration=round(1000 / frames_per_second), loop=0)


def _palette() -> np.ndarray:
    """256 colours for all frames of a run, so that none jumps: novelty's, the world's, and steps from ink to white."""
    novelty = matplotlib.colormaps[NOVELTY](np.linspace(0, 1, 208))[:, :3]
    ink, white = np.array(to_rgb(INK)), np.ones(3)
    text = ink + np.linspace(0, 1, 39)[:, None] * (white - ink)
    world = [to_rgb(color) for color in (WALL, FLOOR, START, SOLVED, *COLOURS.values(), "black")]
    return np.round(np.concatenate([novelty, text, world]) * 255).astype(np.uint8)


def _painted(picture: np.ndarray, palette: np.ndarray) -> Image.Image:
    """A picture in the nearest of the palette's colours. Pillow's own search for them is off by up to 6 of 255."""
    codes = picture.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    found, where = np.unique(codes, return_inverse=True)
    colors = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    nearest = cdist(colors, palette).argmin(axis=1).astype(np.uint8)
    image = Image.fromarray(nearest[where].reshape(codes.shape), "P")
    image.putpalette(palette.tobytes())
    return image


def _in_its_own_colours(picture: np.ndarray) -> Image.Image:
    """A picture of a world whose colours are not known: in the 256 that suit it best."""
    return Image.fromarray(picture).quantize(256, dither=Image.Dither.NONE)


def _write_mp4(out: Path, pictures: Iterable[np.ndarray], frames_per_second: float) -> None:
    try:
        import imageio.v2 as imageio  # ty: ignore[import-not-found]
    except ImportError:
        raise ImportError("an .mp4 needs imageio: pip install 'brns[video]'; a .gif needs nothing more") from None
    with imageio.get_writer(out, fps=frames_per_second, macro_block_size=1) as movie:
        for picture in pictures:
            movie.append_data(picture)
