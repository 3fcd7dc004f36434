"""Elites: the fittest individual in each cell, the sum of their fitness, and a table."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from brns.core import Population
from brns.metrics.coverage import Cells, find_cell_coordinates
from brns.metrics.recorded import (
    NoveltySearch,
    Record,
    read_all_evaluated,
    read_valid_rows_by_generation,
)

if TYPE_CHECKING:
    import pandas


def elites(record: Record, cells: Cells) -> Population:
    """Of everything that a run evaluated, the fittest of each cell that was visited, the first
    born of equals.

    Args:
        record: the run.
        cells: as many as a grid has in each dimension of the behavior space, or the centres of a
            tessellation.

    Returns:
        In the order of their cells (`coverage.find_cell_coordinates`), the last dimension running
        fastest.
    """
    best = read_elites_without_genotypes(record, cells)
    genotype = record.genotypes(best["id"], best["born"])
    return Population(genotype=genotype, **best)  # ty: ignore[invalid-argument-type]


def read_elites_without_genotypes(record: Record, cells: Cells) -> dict[str, np.ndarray]:
    """The columns of the elites without the genotype, which takes longer to read.

    Args:
        record: the run.
        cells: as many as a grid has in each dimension, or centres.

    Returns:
        Columns by name, in the order of `elites`.
    """
    columns = read_all_evaluated(record)
    columns = {name: column[~columns["failed"]] for name, column in columns.items()}
    order = np.lexsort((columns["id"], -columns["fitness"]))
    cell = find_cell_coordinates(columns["descriptor"][order], record.behavior_space, cells)
    _, first = np.unique(cell, axis=0, return_index=True)
    return {name: values[order[first]] for name, values in columns.items()}


def qd_score(record: Record, cells: Cells, offset: float = 0.0) -> Float[np.ndarray, " g"]:
    r"""$\sum_c (f_c - offset)$ after each generation: over the visited cells, the fitness of their
    elites by then.

    Source: Pugh, Soros & Stanley 2016, doi:10.3389/frobt.2016.00040, who ask for fitness that is
    nowhere negative.

    Args:
        record: the run.
        cells: as many as a grid has in each dimension, or centres.
        offset: subtracted from fitness; with the task's least fitness a new cell never lowers the
            score.

    Returns:
        In the task's unit of fitness.
    """
    points = read_valid_rows_by_generation(record, "descriptor")
    fitness = read_valid_rows_by_generation(record, "fitness")
    visited = find_cell_coordinates(np.concatenate(points), record.behavior_space, cells)
    _, cell = np.unique(visited, axis=0, return_inverse=True)
    best, scores, at = np.full(int(np.max(cell)) + 1, -np.inf), [], 0
    for values in fitness:
        np.maximum.at(best, cell[at : at + len(values)], values)
        at += len(values)
        scores.append((best[np.isfinite(best)] - offset).sum())
    return np.array(scores)


def to_dataframe(population: Population, search: NoveltySearch | None = None) -> "pandas.DataFrame":
    """Individuals, such as `record.population()`, as a pandas DataFrame; wide columns
    become `descriptor_0`, ...

    Needs pandas, the extra `pandas`.

    Args:
        population: such as `record.population()`, `record.solutions()` or `elites`.
        search: the one that made them, such as `record.search`: then the operators have names in
            place of numbers. For whoever was born before a fork give that of the run that was
            forked.

    Returns:
        A row for each individual.

    Raises:
        ValueError: where it is no `Population`.
    """
    import pandas

    if not isinstance(population, Population):
        raise ValueError(
            "brns.to_dataframe takes individuals, such as record.population(); "
            "record.to_dataframe() has a row for each generation; "
            f"got {type(population).__name__}"
        )
    columns = {}
    for name, column in population._asdict().items():
        column = np.asarray(column)
        if name == "operator" and search is not None:
            names = np.array([*search.mutate_as_mixture.descriptions, None], object)
            column = names[np.where(column < len(names) - 1, column, -1)]
        if column.ndim == 1:
            columns[name] = column
        else:
            columns |= {f"{name}_{i}": row for i, row in enumerate(column.T)}
    return pandas.DataFrame(columns)
