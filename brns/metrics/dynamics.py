"""Population dynamics: how old individuals get, and how far from their parents they live."""

import numpy as np
from jaxtyping import Array, Float, Int

from brns.metrics.recorded import Record, evaluated, survivors


def parent_distance(
    descriptors: Float[Array | np.ndarray, "g n d"],
    parents: Int[Array | np.ndarray, "g n"],
    known: Int[Array | np.ndarray, " m"],
    behaviors: Float[Array | np.ndarray, "m d"],
) -> Float[np.ndarray, " g"]:
    r"""$\lVert \phi(x) - \phi(parent(x)) \rVert_2$, mean over a generation's x that have a parent.

    `parents` are ids, -1 for none; `known` are the ids of all who ever lived, in any order, and `behaviors` their
    descriptors. In the units of the behavior space. NaN where nobody has a parent, as among the founders.
    """
    parents, known = np.asarray(parents), np.asarray(known)
    order = np.argsort(known)
    row = order[np.searchsorted(known, parents, sorter=order).clip(max=len(known) - 1)]
    born_here = parents >= 0
    if (lost := born_here & (known[row] != parents)).any():
        raise ValueError(f"the parents with ids {parents[lost][:5]} are not known: pass all who were evaluated")
    there = np.asarray(behaviors, np.float64)[row]
    distance = np.linalg.norm(np.asarray(descriptors, np.float64) - there, axis=-1)
    total, count = np.where(born_here, distance, 0).sum(axis=1), born_here.sum(axis=1)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def age_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """Mean age of the survivors of each generation of a run; figure 3c."""
    return np.asarray(record.generations) - survivors(record, "born").mean(axis=1)


def parent_distance_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """Mean distance in behavior space from the survivors of each generation to their parents; figure 3b.

    Founders have no parent and are left out; generation 0 is NaN.
    """
    return parent_distance(
        survivors(record, "descriptor"),
        survivors(record, "parent"),
        np.concatenate(evaluated(record, "id")),
        np.concatenate(evaluated(record, "descriptor")),
    )
