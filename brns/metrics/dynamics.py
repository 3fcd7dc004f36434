"""Population dynamics: how old individuals get, and how far from their parents they live."""

import numpy as np
from jaxtyping import Float, Int

from brns.metrics.recorded import Numbers, Record, everyone


def parent_distance(
    descriptors: Float[Numbers, "g n d"],
    parents: Int[Numbers, "g n"],
    behaviors: Float[Numbers, "m d"],
) -> Float[np.ndarray, " g"]:
    r"""$\lVert \phi(x) - \phi(parent(x)) \rVert_2$, mean over a generation's x that have a parent;
    NaN where nobody has, as among the founders.

    Args:
        descriptors: of each generation's individuals.
        parents: their parents' ids; -1 for none.
        behaviors: row i is the descriptor of the individual with id i.
    """
    parents = np.asarray(parents)
    there = np.asarray(behaviors, np.float64)[parents]
    distance = np.linalg.norm(np.asarray(descriptors, np.float64) - there, axis=-1)
    return np.ma.masked_where(parents < 0, distance).mean(axis=1).filled(np.nan)


def age_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """The mean age in generations of each generation's survivors; figure 3c."""
    return np.asarray(record.generations) - record.column("survivors.born").mean(axis=1)


def parent_distance_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """The mean distance in behavior space of each generation's survivors to their parents;
    figure 3b."""
    behaviors = everyone(record, ["descriptor"])["descriptor"]
    return parent_distance(
        record.column("survivors.descriptor"), record.column("survivors.parent"), behaviors
    )
