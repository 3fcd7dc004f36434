"""The public names, and where each lives."""

from .figures import data as data
from .figures import draw as draw
from .figures import overview as overview
from .gather_maps import compute_novelty_grid as compute_novelty_grid
from .records import group_by_method as group_by_method
from .records import label_method as label_method
from .style import save as save
from .table import FIGURES as FIGURES
from .table import PAPER as PAPER
from .table import Picture as Picture
