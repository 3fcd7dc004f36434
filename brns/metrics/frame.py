"""Individuals as a table of pandas."""

from typing import TYPE_CHECKING

import numpy as np

from brns.core import Population

if TYPE_CHECKING:
    import pandas


def frame(population: Population) -> "pandas.DataFrame":
    """A data frame with a row for each individual: the columns of a `Population`; wide ones become `descriptor_0`, ...

    For elites, solutions and any population that a record gives. Needs pandas: `pip install 'brns[frame]'`.
    """
    import pandas

    made: dict[str, np.ndarray] = {}
    for name in Population._fields:
        column = np.asarray(getattr(population, name))
        made |= {name: column} if column.ndim == 1 else {f"{name}_{i}": column[:, i] for i in range(column.shape[1])}
    return pandas.DataFrame(made)
