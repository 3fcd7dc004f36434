"""Lineage: from whom an individual descends."""

import numpy as np

from brns.core import Population
from brns.metrics.recorded import Record, everyone


def ancestors(record: Record, individual: int, mates: bool = True) -> Population:
    """All from whom an individual descends, and itself, in the order of birth.

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
    columns = everyone(record)
    if not 0 <= individual < len(columns["id"]):
        raise ValueError(
            f"{record.path} has individuals 0 to {len(columns['id']) - 1}; got {individual}"
        )
    related, waiting = set(), {individual}
    while waiting:
        related |= waiting
        parents = columns["parent"][list(waiting)]
        if mates:
            parents = np.append(parents, columns["mate"][list(waiting)])
        waiting = set(parents[parents >= 0].tolist()) - related
    rows = sorted(related)
    family = {name: column[rows] for name, column in columns.items()}
    genotype = record.genotypes(family["id"], family["born"])
    return Population(genotype=genotype, **family)  # ty: ignore[invalid-argument-type]
