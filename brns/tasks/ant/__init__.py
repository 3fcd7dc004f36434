"""The ant maze of the paper's section 5.2: its rules, its model, and how it looks."""

from brns.tasks.ant.rules import AntMaze as AntMaze
from brns.tasks.ant.rules import Episodes as Episodes
