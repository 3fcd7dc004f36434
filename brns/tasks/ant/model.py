"""The ant and its two arenas as numbers, and the XML of MuJoCo's model made of them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from brns.tasks.scene import COLOURS

START = (0.0, -24.0, 0.6)  # metres, of the torso
AREA_RADIUS = 5.0
TEMPLATE = Path(__file__).with_name("ant.xml")
FAR = 1e5  # metres, where nobody comes
PIXELS = 1000  # of a picture of the walls, along each side
GREY = "0.55 0.5 0.45 0.4"  # of the walls


class Arena(NamedTuple):
    """A walled floor with areas to find. Lengths in metres."""

    floor: tuple[float, float]
    """the floor's centre"""
    walls: tuple[tuple[float, float, float, float], ...]
    """centre x, y and half sizes x, y of each wall"""
    areas: dict[str, tuple[float, float]]
    """the centre of each area by its colour"""
    samples: int
    """positions in a descriptor"""

    def rasterize_walls(self, low: float, high: float) -> Bool[np.ndarray, "h w"]:
        """The walls as pixels of a square from `low` to `high`; row 0 is at the lowest y."""
        at = np.linspace(low, high, PIXELS, endpoint=False) + (high - low) / PIXELS / 2
        x, y, half_x, half_y = np.array(self.walls).T[:, None]
        rows = np.abs(at[:, None] - y) <= half_y
        columns = np.abs(at[:, None] - x) <= half_x
        return rows @ columns.T  # of bools: whether any wall has both


_INNER = ((-15, 20, 0.3, 17), (-3, -15, 13, 0.3), (10, -15, 0.3, 15))
_AREAS = {"green": (34.0, -25.0), "red": (-24.0, 33.0), "blue": (15.0, 15.0)}
ARENAS = {
    "large": Arena(
        floor=(5, 5),
        walls=((5, 40, 35, 0.3), (5, -30, 35, 0.3), (40, 5, 0.3, 35), (-30, 5, 0.3, 35), *_INNER),
        areas=_AREAS,
        samples=16,
    ),
    "huge": Arena(
        floor=(0, 0),
        walls=(
            *((0, 50, 50, 0.3), (0, -50, 50, 0.3), (-50, 0, 0.3, 50), (50, 0, 0.3, 50)),
            *((-15, -40, 0.3, 10), (5, 40, 35, 0.3), (5, -30, 35, 0.3), (40, 20, 0.3, 20)),
            *((40, -20, 0.3, 10), (-30, 5, 0.3, 35), *_INNER),
        ),
        areas={**_AREAS, "violet": (-21.0, -40.0)},
        samples=48,
    ),
}


def make_ant_xml(arena: str, integrator: str) -> str:
    """MuJoCo's description of the ant in an arena: `ant.xml`, filled in.

    Since MuJoCo 3.5 the margins of two geoms in contact add up, so that each has half of the 0.01
    m. The ant's parts collide with the arena, not with each other. The model never resets itself,
    so that the task sees unstable physics.

    Each wall is a body of its own, because MuJoCo skips bodies whose bounding boxes are far away.
    Two balls far out on the x axis align these boxes with the walls. Floor, walls and balls come
    after the ant, so that contacts have the same order, and the same bits, as with one body for
    all.
    """
    floor, walls, areas, _ = ARENAS[arena]
    half = walls[0][2]  # the arena's half size
    boxes, balls, discs = "", "", ""
    for x, y, a, b in walls:
        box = f'<geom type="box" pos="{x} {y} 2.0" size="{a} {b} 2.0" class="arena" rgba="{GREY}"/>'
        boxes += f"<body>{box}</body>"
    for x in (-FAR, FAR):
        balls += f'<body><geom type="sphere" pos="{x} 0 0" size="1" class="arena"/></body>'
    for colour, (x, y) in areas.items():
        rgb = " ".join(f"{part / 255:.3f}" for part in bytes.fromhex(COLOURS[colour][1:]))
        place = f'pos="{x} {y} 0.01" size="{AREA_RADIUS} 0.01"'
        discs += f'<site type="cylinder" {place} rgba="{rgb} 1"/>'
    return TEMPLATE.read_text().format(
        arena=arena,
        integrator=integrator,
        extent=4 * half,
        above=2.5 * half,
        half=half,
        x=floor[0],
        y=floor[1],
        start=" ".join(map(str, START)),
        boxes=boxes,
        balls=balls,
        discs=discs,
    )
