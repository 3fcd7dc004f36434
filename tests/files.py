"""A run's files, as tests compare and spoil them."""

import json
from pathlib import Path

import numpy as np

from brns import Record
from brns.runs import metadata
from brns.runs.storage import SEAL, write_arrays


def content(file):
    """What a file holds; of arrays all but the seal, since every run has an identifier of its own."""
    if file.suffix != ".npz":
        return file.read_bytes()
    with np.load(file, allow_pickle=False) as arrays:
        return {
            name: (arrays[name].dtype.str, arrays[name].shape, arrays[name].tobytes())
            for name in arrays
            if name != SEAL
        }


def bits(path):
    """The content of every file of generations and states by its name."""
    return {str(file.relative_to(path)): content(file) for file in sorted(Path(path).rglob("0*.npz"))}


def seal(file):
    """Where a run expects that one of its files belongs."""
    return Record(file.parent.parent)._seal(int(file.stem))


def reseal(file, arrays):
    """Put other arrays into a file as the run itself would have."""
    write_arrays(file, {name: array for name, array in arrays.items() if name != SEAL}, seal(file))


def rewrite(run, facts):
    """Put other facts into a run's run.json, as JSON, as the run itself would have."""
    metadata.write(run, metadata.Metadata.model_validate_json(json.dumps(facts)))
