"""The deceptive maze of the paper's section 5.1: its rules, its map, and how it looks."""

from brns.tasks.maze.rules import DeceptiveMaze as DeceptiveMaze
from brns.tasks.maze.rules import RoomsMaze as RoomsMaze
