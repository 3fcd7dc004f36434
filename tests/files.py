"""A run's files, as tests compare and spoil them; and trees of arrays."""

import json
import os
import shutil
from pathlib import Path

import jax
import numpy as np

from brns import Record
from brns.runs import metadata
from brns.runs.arrays import SEAL
from brns.runs.store import Store


def content(file):
    """What a file holds; of arrays all but the seal, which names its run."""
    if file.suffix != ".npz":
        return file.read_bytes()
    with np.load(file, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays if name != SEAL}
        return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in found.items()}


def bits(path):
    """The content of every file of generations and states, and of progress.csv, by its name."""
    files = [*Path(path).rglob("0*.npz"), *Path(path).rglob("progress.csv")]
    return {str(file.relative_to(path)): content(file) for file in files}


def contents(path):
    """All files below a path, of which none may be changed."""
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def rewrite(run, facts):
    """Put other facts into a run's run.json, as JSON, as the run itself would have."""
    metadata.write_metadata(Store(run), metadata.Metadata.model_validate_json(json.dumps(facts)))


def copy_run(record, path, last=None):
    """A run of its own to spoil, of the generations up to the last one, which knows its search."""
    shutil.copytree(record.path, path)
    for file in path.glob("*/0*.npz"):
        if last is not None and int(file.stem) > last:
            file.unlink()
    return Record(path, record.search)


def refusing(code):
    """A function of the system that fails in this way."""

    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    return refuse


def same(a, b):
    """Whether two trees hold the same numbers."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)
