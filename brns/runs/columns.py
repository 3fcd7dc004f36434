"""The columns of one generation: which a record holds, how they are read, and the generation in numbers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brns.core import Generation, Population
from brns.runs.storage import RecordError, Seal, read_arrays

PLAIN = tuple(column for column in Population._fields if column != "genotype")
"""the columns of individuals that are read at once; genotypes take longer"""

# The columns of a generation's file, beside the offspring's genotypes.
FACTS = (
    *(f"{who}.{column}" for who in ("offspring", "survivors") for column in PLAIN),
    "parents.id",
    "parents.novelty",
)

# Those of which `turnover` is made.
TURNOVER = ("offspring.solved", "survivors.novelty", "survivors.fitness", "survivors.born")

# The dimensions of a column; of all others 1.
DIMENSIONS = {"genotype": 2, "descriptor": 2, "where": 2}


def read_columns(path: Path, seal: Seal, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those columns of a generation, in which every individual has a row."""
    arrays = read_arrays(path, seal, names)
    for name, array in arrays.items():
        if array.ndim != DIMENSIONS.get(name.partition(".")[2], 1):
            raise RecordError(f"{path} was edited: {name} has shape {array.shape}")
    for who in Generation._fields:
        if len({len(array) for name, array in arrays.items() if name.startswith(f"{who}.")}) > 1:
            raise RecordError(f"{path} was edited: the columns of its {who} are not of one length")
    return arrays


def turnover(number: int, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """One generation in numbers: the survivors' novelty, fitness and age, how many are new, and how many solved."""
    novelty, fitness, born = (columns[f"survivors.{name}"] for name in ("novelty", "fitness", "born"))
    return {
        "novelty_mean": float(novelty.mean(dtype=np.float64)),
        "novelty_max": float(novelty.max()),
        "fitness_mean": float(fitness.mean(dtype=np.float64)),
        "fitness_max": float(fitness.max()),
        "age_mean": float((number - born).mean()),
        "survivors_new": int((born == number).sum()),
        "solved": int(columns["offspring.solved"].sum()),
    }
