"""A run that is stored in dictionaries."""

from pathlib import Path

import jax
import numpy as np

from brns.core.population import copy_to_host
from brns.runs import metadata
from brns.runs.loop import iterate_generations
from brns.runs.opening import save_founders_and_begin_runs
from brns.runs.store import Store


class Memory(Store):
    """Arrays by kind, number and name, with the seal that they were written with."""

    def __init__(self):
        super().__init__(Path("memory"))
        self.facts, self.rows, self.arrays = b"", [], {}

    def make_folder(self, kind=""):
        pass

    def read_run_json_bytes(self):
        return self.facts

    def write_run_json_bytes(self, content):
        self.facts = content

    def list_generations(self, kind):
        return sorted(number for other, number in self.arrays if other == kind)

    def read(self, kind, number, seal, names=()):
        written, arrays = self.arrays[kind, number]
        assert written == seal
        return {name: arrays[name] for name in names or arrays}

    def write(self, kind, number, seal, arrays, synced=True):
        self.arrays[kind, number] = (seal, {name: np.array(arrays[name]) for name in arrays})

    def sync_generations(self, numbers):
        pass

    def remove(self, kind, number):
        self.arrays.pop((kind, number), None)

    def write_rows(self, rows, mode="a"):
        self.rows = ([] if mode == "w" else self.rows) + [*rows]


def run_in_memory(search, generations, seeds, checkpoint_every=1):
    """The records of such a run."""
    facts = metadata.make_metadata_of_each_seed(search, seeds, generations, checkpoint_every)
    for each in facts:
        each.sessions.append(metadata.Session(after=0))
    begun = copy_to_host([search.init_with_failures(jax.random.key(seed)) for seed in seeds])
    stores = [Memory() for _ in seeds]
    runs = save_founders_and_begin_runs(search, facts, begun, stores)
    for _ in iterate_generations(runs):
        pass
    return [run.record for run in runs]
