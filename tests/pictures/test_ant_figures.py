"""The figures of ants, of a run by hand: paths, and the signatures of paths."""

import re

import numpy as np
import pytest

from brns import ArchiveKNN, NoveltySearch, Record
from brns import pictures as drawn
from brns.core import founding, individuals
from brns.runs import metadata
from brns.tasks.ant import AntMaze


def ant_run(path, seed, reach):
    """A run of the ant by hand: three straight paths of 16 steps."""
    search = NoveltySearch(AntMaze(), ArchiveKNN(), population_size=3, offspring_size=3)
    metadata.create(path, metadata.new(search, seed, [seed], 1, 1))
    record = Record(path)
    steps = np.arange(1, 17)[None, :, None] * np.array([[1.0, 0.0], [0.0, reach], [9.0, 9.0]])[:, None]
    people = individuals(steps.reshape(3, 32))._replace(genotype=np.zeros((3, 608), np.float32))
    record.append(0, founding(people), np.zeros(0))
    return record


def test_the_signature_figure_is_the_spread_of_everything_evaluated(tmp_path, ax):
    runs = [ant_run(tmp_path / "a", 0, 1.0), ant_run(tmp_path / "b", 1, 3.0)]
    drawn.signature(runs, ax)
    heights = [bar.get_height() for bar in ax.patches]
    # The first level is the path's increment, 15 steps: x is 15, 0 and 135 in both runs; y is 0, 15 and 135, then 0,
    # 45 and 135.
    assert heights[0] == pytest.approx(np.sqrt((35**2 + 50**2 + 85**2) / 3))
    assert heights[1] == pytest.approx(
        (np.sqrt((50**2 + 35**2 + 85**2) / 3) + np.sqrt((60**2 + 15**2 + 75**2) / 3)) / 2
    )
    ax.figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels(which="both")]
    assert all(re.fullmatch(r"[\d.e+-]*", label) for label in labels)  # numbers, no code of a formula
    assert sum(label != "" for label in labels) > 2


def test_the_ants_world_has_its_paths_walls_and_areas(tmp_path, ax):
    record = ant_run(tmp_path / "ant", 0, 1.0)
    drawn.maze(record, ax)
    path = ax.collections[0].get_segments()[1]
    np.testing.assert_allclose(path[0], [0, -24])  # From the start ...
    np.testing.assert_allclose(path[-1], [0, 16])  # ... to the last position.
    assert {"green area", "red area", "blue area"} <= set(ax.get_legend_handles_labels()[1])
    walls = np.asarray(ax.images[0].get_array())
    row, column = 550, 900  # The border at x = 40, in pixels of 0.1 m.
    assert walls[row, column] == 1
    with pytest.raises(ValueError, match="2 dimensions"):
        drawn.novelty_grid(record, 0)
