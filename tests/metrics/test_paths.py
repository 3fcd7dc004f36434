from typing import ClassVar

import numpy as np

from brns import Box
from brns.metrics import paths

SPACE = Box([-50.0] * 6, [50.0] * 6)


def test_the_signature_of_a_corner_by_hand():
    # 3 to the right, then 4 up: xx = 9 / 2, yy = 16 / 2, xy = 3 * 4 (x moves before y), yx = 0.
    corner = np.array([[0, 0, 3, 0, 3, 4]], np.float32)
    np.testing.assert_allclose(paths.signatures(corner), [[3, 4, 4.5, 12, 0, 8]])


def test_the_box_of_signatures_by_hand():
    box = paths.signature_space(SPACE)
    np.testing.assert_allclose(box.low, [-50, -50, 0, -1250, -1250, 0])
    np.testing.assert_allclose(box.high, [50, 50, 1250, 1250, 1250, 1250])


class Recorded:
    """Two generations of two paths of two points; of two far away that are born in the second one survives."""

    generations = (0, 1)
    path = "memory"

    class search:
        class task:
            behavior_space = Box([-50.0] * 4, [50.0] * 4)

    columns: ClassVar = {
        "offspring.descriptor": np.array(
            [[[0, 0, 1, 1], [0, 0, 2, 1]], [[40, -40, -40, 40], [-40, -40, 40, 40]]], np.float32
        ),
        "survivors.descriptor": np.array(
            [[[0, 0, 1, 1], [0, 0, 2, 1]], [[0, 0, 1, 1], [-40, -40, 40, 40]]], np.float32
        ),
        "survivors.novelty": np.array([[1.0, 3.0], [2.0, 2.0]], np.float32),
    }

    def column(self, name, generations=None):
        return self.columns[name][list(self.generations if generations is None else generations)]


def test_coverage_counts_cells_of_signature_space():
    cells = 3 * 3 * 5 * 20 * 15 * 10
    np.testing.assert_allclose(paths.coverage_of_record(Recorded()), [1 / cells, 3 / cells])


def test_uniformity_weighs_occupied_cells_by_their_mean_novelty():
    # Generation 0 occupies one cell; generation 1 two, of the same novelty: both uniform. Unequal novelty is not.
    np.testing.assert_allclose(paths.uniformity_of_record(Recorded()), [0, 0], atol=1e-9)
    uneven = Recorded()
    survivors = Recorded.columns["survivors.descriptor"][[1, 1]]
    novelty = np.array([[1.0, 3.0], [1.0, 3.0]], np.float32)
    uneven.columns = {**Recorded.columns, "survivors.descriptor": survivors, "survivors.novelty": novelty}
    # p = (1/4, 3/4) against (1/2, 1/2), m = (3/8, 5/8), in bits.
    divergence = 0.5 * (0.25 * np.log2(2 / 3) + 0.75 * np.log2(6 / 5)) + 0.5 * (
        0.5 * np.log2(4 / 3) + 0.5 * np.log2(4 / 5)
    )
    np.testing.assert_allclose(paths.uniformity_of_record(uneven), np.sqrt([divergence] * 2), rtol=1e-6)


def test_uniformity_is_unknown_where_nobody_is_novel():
    same = Recorded()
    same.columns = {**Recorded.columns, "survivors.novelty": np.array([[0.0, 0.0], [2.0, 2.0]], np.float32)}
    np.testing.assert_allclose(paths.uniformity_of_record(same), [np.nan, 0], atol=1e-9)
