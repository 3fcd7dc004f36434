"""How the deceptive maze looks."""

from typing import TYPE_CHECKING

from brns.scene import COLOURS, Area, Scene, plain
from brns.tasks.maze.map import PIXEL

if TYPE_CHECKING:
    from brns.tasks.maze.rules import DeceptiveMaze


def scene(maze: "DeceptiveMaze") -> Scene:
    """The map with its start and its goal; y runs down."""
    x, y, _ = maze.start
    walls = maze.obstacles
    # A pixel's centre, and not its corner, is at a multiple of its size.
    edge = PIXEL * len(walls) - PIXEL / 2
    return plain(maze.behavior_space)._replace(
        axes=("x", "y"),
        down=True,
        walls=walls,
        walls_extent=(-PIXEL / 2, edge, -PIXEL / 2, edge),
        start=(x, y),
        areas=(Area(*maze.goal, maze.goal_radius, "goal", COLOURS["green"]),),
    )
