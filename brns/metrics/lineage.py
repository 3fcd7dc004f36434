"""Lineage: the ancestors of an individual."""

from collections.abc import Mapping

import numpy as np

from brns.checks.parts import require_integer
from brns.core import Population
from brns.metrics.recorded import Record, read_all_evaluated


def find_ancestors(record: Record, individual: int, mates: bool = True) -> Population:
    """All ancestors of an individual, and itself, in the order of birth.

    Args:
        record: the run.
        individual: its id.
        mates: whether second parents count too, of whom a crossover took genes; without them it is
            the line that leads from one founder to the individual, parent by parent.

    Returns:
        Individuals with their genotypes.

    Raises:
        ValueError: where the run has no such individual.
    """
    columns = read_all_evaluated(record)
    individual = require_integer("individual", individual, 0)
    rows = find_ancestor_ids(record, columns, individual, mates)
    family = {name: column[rows] for name, column in columns.items()}
    genotype = record.genotypes(family["id"], family["born"])
    return Population(genotype=genotype, **family)  # ty: ignore[invalid-argument-type]


def find_ancestor_ids(
    record: Record, columns: Mapping[str, np.ndarray], individual: int, mates: bool = True
) -> list[int]:
    """The ids of those whom `find_ancestors` gives, by columns of `read_all_evaluated`."""
    if not 0 <= individual < len(columns["parent"]):
        raise ValueError(
            f"{record.path} has individuals 0 to {len(columns['parent']) - 1}; got {individual}"
        )
    related, waiting = set(), {individual}
    while waiting:
        related |= waiting
        parents = columns["parent"][list(waiting)]
        if mates:
            parents = np.append(parents, columns["mate"][list(waiting)])
        waiting = set(parents[parents >= 0].tolist()) - related
    return sorted(related)
