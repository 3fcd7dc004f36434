"""How a task looks, as data for figures, reports and movies. All of it is optional."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, UInt8

from brns.core import Box
from brns.tasks.policy import Genotypes, Rows

COLOURS = {"green": "#41ab5d", "red": "#a50f15", "blue": "#2f7fd1", "violet": "#8e5bb5"}
"""for areas; nothing else in a picture has them, and red and green stay apart to every eye"""


class Area(NamedTuple):
    """A disc that matters to the task."""

    x: float
    y: float
    radius: float
    name: str
    color: str


class Scene(NamedTuple):
    """The plane of a behavior space, in the task's units."""

    low: tuple[float, float]
    high: tuple[float, float]
    axes: tuple[str, str] = ("behavior 1", "behavior 2")
    paths: bool = False
    """a descriptor is a path x1, y1, x2, y2, ...; the behavior lies where the path ends"""
    plane: tuple[int, int] = (0, 1)
    """the dimensions of a behavior that is no path that x and y are, from 0 on"""
    down: bool = False
    """y runs down, as in the pixels of an image"""
    walls: Bool[np.ndarray, "h w"] | None = None
    """pixels; row 0 is at the lowest y"""
    walls_extent: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    """left, right, lowest and highest y of the pixels' outer edges"""
    start: tuple[float, float] | None = None
    areas: tuple[Area, ...] = ()
    """a goal, or what else there is to reach"""

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, lowest and highest y, for `imshow(..., origin="lower")`."""
        return self.low[0], self.high[0], self.low[1], self.high[1]

    def project_to_plane(self, descriptors: Float[Rows, "*n d"]) -> Float[np.ndarray, "*n 2"]:
        """Where behaviors lie in the plane.

        Args:
            descriptors: `(..., d)`.

        Returns:
            x and y, `(..., 2)`, of a path's end, or two dimensions; of a line, y = 0.
        """
        descriptors = np.asarray(descriptors)
        if descriptors.shape[-1] == 1:
            return np.concatenate([descriptors, np.zeros_like(descriptors)], axis=-1)
        return descriptors[..., -2:] if self.paths else descriptors[..., self.plane]


class Film(NamedTuple):
    """Pictures of one episode."""

    pictures: Iterator[UInt8[np.ndarray, "height width 3"]]
    most: int
    """the largest number of pictures; an episode may end early"""
    per_second: float


@runtime_checkable
class Drawable(Protocol):
    """A task that says how it looks; other tasks show the box of their behavior space."""

    def scene(self) -> Scene: ...


@runtime_checkable
class Traced(Protocol):
    """A task that returns the paths of individuals; x and y are the first columns."""

    def trajectory(self, genotypes: Genotypes) -> Float[Rows, "n times columns"]:
        """The paths of individuals.

        Args:
            genotypes: `(n, p)`.

        Returns:
            x, y and whatever else, in the scene's units, at as many times for all.
        """


@runtime_checkable
class Filmed(Protocol):
    """A task that can film an individual's episode."""

    def film(self, genotype: Float[Rows, " p"]) -> Film:
        """Film an individual's episode.

        Args:
            genotype: `(p,)`.

        Returns:
            Pictures, made as they are asked for.
        """


def make_plain_scene(space: Box, plane: tuple[int, int] = (0, 1)) -> Scene:
    """The scene of a task without `scene`: only its behavior space is known.

    Args:
        space: the behavior space.
        plane: two of its dimensions, from 0 on.

    Returns:
        The box of these dimensions, without walls.
    """
    low, high = np.asarray(space.low).tolist(), np.asarray(space.high).tolist()
    if space.dimension == 1:
        return Scene((low[0], -1.0), (high[0], 1.0), ("behavior", ""))
    x, y = plane
    of = f" of {space.dimension}" if space.dimension > 2 else ""
    axes = f"behavior {x + 1}{of}", f"behavior {y + 1}{of}"
    return Scene((low[x], low[y]), (high[x], high[y]), axes, plane=plane)
