"""Population dynamics: how old individuals get, and how far from their parents they live."""

import numpy as np
from jaxtyping import Float, Int

from brns.metrics.recorded import Numbers, Record, read_all_evaluated


def compute_mean_parent_distance_by_generation(
    descriptors: Float[Numbers, "g n d"],
    parents: Int[Numbers, "g n"],
    behaviors: Float[Numbers, "m d"],
) -> Float[np.ndarray, " g"]:
    r"""$\lVert \phi(x) - \phi(parent(x)) \rVert_2$, mean over a generation's x that have a parent.

    Args:
        descriptors: of each generation's individuals, `(g, n, d)`.
        parents: their parents' ids, `(g, n)`; -1 for none.
        behaviors: row i is the descriptor of the individual with id i.

    Returns:
        In the units of the behavior space; NaN where nobody has a parent, as among the founders.
    """
    parents = np.asarray(parents)
    there = np.asarray(behaviors, np.float64)[parents]
    distance = np.linalg.norm(np.asarray(descriptors, np.float64) - there, axis=-1)
    return np.ma.masked_where(parents < 0, distance).mean(axis=1).filled(np.nan)


def survivors_age_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """Mean age of the survivors of each generation of a run; figure 3c.

    Args:
        record: the run.

    Returns:
        In generations, from generation 0 on.
    """
    return np.asarray(record.generations) - record.column("survivors.born").mean(axis=1)


def survivors_parent_distance_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """Mean distance in behavior space from the survivors of each generation to their parents;
    figure 3b.

    Args:
        record: the run.

    Returns:
        In the units of the behavior space, from generation 0 on, which is NaN.
    """
    behaviors = read_all_evaluated(record, ["descriptor"])["descriptor"]
    places, parents = record.column("survivors.descriptor"), record.column("survivors.parent")
    return compute_mean_parent_distance_by_generation(places, parents, behaviors)
