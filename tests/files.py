"""A run's files, as tests compare and spoil them."""

import json
from pathlib import Path

import numpy as np

from brns import Record
from brns.runs import facts as run_json
from brns.runs.storage import GENERATION, RUN, Seal, write_arrays


def content(file):
    """What a file holds; of arrays all but the run's identifier, which is another for every run."""
    if file.suffix != ".npz":
        return file.read_bytes()
    with np.load(file, allow_pickle=False) as arrays:
        return {
            name: (arrays[name].dtype.str, arrays[name].shape, arrays[name].tobytes()) for name in arrays if name != RUN
        }


def bits(path):
    """The content of every file of generations and states by its name."""
    return {str(file.relative_to(path)): content(file) for file in sorted(Path(path).rglob("0*.npz"))}


def seal(file):
    """Where a run expects that one of its files belongs."""
    return Seal(Record(file.parent.parent).identifier, int(file.stem))


def reseal(file, arrays):
    """Put other arrays into a file as the run itself would have."""
    write_arrays(file, {name: array for name, array in arrays.items() if name not in (RUN, GENERATION)}, seal(file))


def rewrite(run, facts):
    """Put other facts into a run's run.json, as JSON, as the run itself would have."""
    run_json.write(run, run_json.Facts.model_validate_json(json.dumps(facts)))
