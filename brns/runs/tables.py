"""A run as a table: a row a generation as a frame."""

from typing import TYPE_CHECKING, Any

import numpy as np

from brns.core import Population
from brns.metrics.coverage import cumulative_coverage, grid
from brns.runs.columns import PLAIN, turnover

if TYPE_CHECKING:
    import pandas

    from brns.runs.record import Record


def of_record(record: "Record") -> "pandas.DataFrame":
    """One row a generation; `Record.frame` says of what."""
    rows, places = [], []
    for g in record.generations:
        c = record.facts_of(g)
        rows.append({"seed": record.seed, "generation": g, "evaluations": c["offspring.id"].size, **turnover(g, c)})
        places.append(c["offspring.descriptor"])
    made = _pandas().DataFrame(rows)
    made["evaluations"], made["solutions"] = made["evaluations"].cumsum(), made["solved"].cumsum()
    if cells := grid(record.behavior_space):
        made["coverage"] = cumulative_coverage(places, record.behavior_space, cells)
    return made


def frame(population: Population) -> "pandas.DataFrame":
    """Individuals as a frame, a row each: the columns of a `Population`, of wide ones `descriptor_0`, `genotype_0`, ...

    For elites, solutions and any population that a record gives. Needs pandas: `pip install 'brns[frame]'`.
    """
    made: dict[str, np.ndarray] = {}
    for name in (*PLAIN, "genotype"):
        column = np.asarray(getattr(population, name))
        made |= {name: column} if column.ndim == 1 else {f"{name}_{i}": column[:, i] for i in range(column.shape[1])}
    return _pandas().DataFrame(made)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("a frame needs pandas: pip install 'brns[frame]'") from None
    return pandas


def finished(record: "Record") -> int:
    """How many generations came after the founders."""
    return max(len(record.generations) - 1, 0)
