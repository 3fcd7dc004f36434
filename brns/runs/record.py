"""A run on disk: a directory that NumPy alone can read, that no crash can spoil, and that can run no code.

    run.json                the run's identifier, the experiment with every setting, the seed, versions, commit, format
    generations/000123.npz  tables, a row an individual: offspring and survivors (all columns but the genotype), parents
                            (id, and the novelty as selected by); and the offspring's genotypes
    states/000123.npz       the search's state after generation 123, one entry a leaf, named by its path
    progress.csv            a line a generation, to watch
    lock                    empty; locked by the process that writes, so that no second one does

Generation 0 holds the founders. How a file is written and read, and tells where it belongs, stands in `storage`.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np

from brns.checks import refuse_nan, refuse_not_finite
from brns.core import Box, Generation, Population, Recounts, founding
from brns.metrics.numbers import ranges
from brns.runs import metadata, progress, storage
from brns.runs.storage import RecordError, numbers_in
from brns.search import NoveltySearch, SearchState
from brns.settings import SettingsError, build, changes, describe, told

if TYPE_CHECKING:
    import pandas

PLAIN = tuple(column for column in Population._fields if column != "genotype")
"""the columns of individuals that are read at once; genotypes take longer"""
TABLES = {"offspring": PLAIN, "survivors": PLAIN, "parents": ("id", "novelty")}
"""of each generation, with their columns"""
FACTS = tuple(f"{who}.{name}" for who, names in TABLES.items() for name in names)
GENOTYPE = "offspring.genotype"
UNFINISHED = (".run.*.tmp.json", "*/.*.tmp.npz")
"""what a killed process may leave of its writing"""


class Record:
    """A run read back from its directory.

    `metadata` are the fields of `run.json`, such as `experiment`, every setting as nested JSON. Give `search`, the
    experiment that made the run, where a part of it is your own; another experiment is a `RecordError`. A record can
    stand for its directory: `brns.resume(record)`.
    """

    def __init__(self, path: str | os.PathLike, search: NoveltySearch | None = None):
        self.path = Path(path)
        self.metadata = metadata.read(self.path)
        self.experiment = self.metadata.experiment
        self.seed = self.metadata.seed
        self.seeds = self.metadata.seeds
        self.planned = self.metadata.generations
        self.checkpoint_every = self.metadata.checkpoint_every
        self.behavior_space = Box(**self.metadata.behavior_space)
        self.versions = self.metadata.versions
        self._read: dict[int, dict[str, np.ndarray]] = {}  # what was read of each generation
        if search is not None:
            if other := changes(self.experiment, describe(search)):
                raise RecordError(f"{self.path} was made by another experiment: {told(other)}")
            self.search = search

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Record({str(self.path)!r}, seed={self.seed}, generations={self.last} of {self.planned})"

    @property
    def generations(self) -> list[int]:
        """The finished generations, from 0, the founders."""
        numbers = numbers_in(self.path / "generations")
        if numbers != list(range(len(numbers))):
            raise RecordError(f"{self.path} lacks generations before {numbers[-1]}; a file was removed")
        return numbers

    @property
    def last(self) -> int:
        """The last finished generation."""
        return self.generations[-1]

    @property
    def snapshots(self) -> list[int]:
        """The generations whose state is on disk."""
        return numbers_in(self.path / "states")

    @functools.cached_property
    def search(self) -> NoveltySearch:
        """The experiment, given or rebuilt from its description; `SettingsError` where a part is not one of brns'."""
        try:
            return build(self.experiment)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error}") from None

    @property
    def known_search(self) -> NoveltySearch | None:
        """The experiment; None where a part of it is a user's own and nobody gave it."""
        try:
            return self.search
        except SettingsError:
            return None

    @property
    def world(self) -> dict[str, Any]:
        """The task's description; of one that was evaluated in chunks, that of the task itself."""
        task = self.experiment["task"]
        while task["name"] == "Chunked":
            task = task["task"]
        return task

    def begin(self, search: NoveltySearch, state: SearchState) -> None:
        """Save the founders, and the state that they are in."""
        self.append(0, founding(state.population))
        self.checkpoint(search, state, before=-1)

    def append(self, number: int, generation: Generation) -> None:
        """Save one generation's facts. They survive this process, and from the next checkpoint on a power failure."""
        refuse_not_finite(number, generation)
        arrays = {who: _table(getattr(generation, who), names) for who, names in TABLES.items()}
        self.write("generations", number, arrays | {GENOTYPE: generation.offspring.genotype}, synced=False)

    def checkpoint(self, search: NoveltySearch, state: SearchState, before: int) -> None:
        """Save the search's state, but for what the estimator can count again, and have the disk confirm all until now.

        `before` is the generation of the last state. That one is removed where the stride does not keep it.
        """
        number = int(state.generation)
        refuse_nan(number, state.estimator)
        with storage.saving(self.path / "generations"):
            for g in range(before + 1, number + 1):
                storage.sync(self._file("generations", g))
            storage.sync(self.path / "generations")
        self.write("states", number, storage.named_leaves(_emptied(search, state)))
        if before % self.checkpoint_every:
            self._file("states", before).unlink(missing_ok=True)

    def _file(self, kind: str, number: int) -> Path:
        return self.path / kind / storage.file_name(number)

    def write(self, kind: str, number: int, arrays: Mapping[str, Any], synced: bool = True) -> None:
        """Save the file of a generation; its `kind` is generations or states."""
        storage.write_arrays(self._file(kind, number), arrays, self.seal(number), synced)

    def seal(self, number: int) -> str:
        """Where the files of a generation belong."""
        return f"generation {number} of run {self.metadata.id}"

    def go_on(self, number: int, generations: int) -> SearchState:
        """The state after a generation, to go on from to so many.

        What a killed process left is removed: files it had not finished, states that only it would go on from.
        """
        for pattern in UNFINISHED:
            for file in self.path.glob(pattern):
                file.unlink(missing_ok=True)
        for state in numbers_in(self.path / "states"):
            if state != number and state % self.checkpoint_every:
                self._file("states", state).unlink()
        if generations > self.planned:
            self.planned = self.metadata.generations = generations
            metadata.write(self.path, self.metadata)
        return self.state(number)

    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray:
        """One column over generations, stacked: `column("survivors.descriptor")` is `(g, mu, d)`.

        By default survivors from generation 0 on, offspring and parents from 1 on: the founders are 0's offspring.
        """
        if generations is None:
            generations = [g for g in self.generations if g or name.startswith("survivors.")]
        generations = list(generations)
        if not generations:
            raise RecordError(f"{self.path} has no generation to read {name} of; it has {ranges(self.generations)}")
        read = self._facts if name in FACTS else lambda g: self.read(g, (name,))
        return np.stack([read(g)[name] for g in generations])

    def read(self, number: int, names: Iterable[str]) -> dict[str, np.ndarray]:
        """These columns of one generation, read anew; each has a row an individual."""
        names = tuple(names)
        if unknown := [name for name in names if name not in (*FACTS, GENOTYPE)]:
            raise RecordError(f"a run has no column {unknown[0]!r}; it has {', '.join((*FACTS, GENOTYPE))}")
        tables = {name.split(".")[0] for name in names if name != GENOTYPE}
        arrays = self.arrays("generations", number, (*tables, *({GENOTYPE} & {*names})))
        found = {}
        for name in names:
            who, column = name.split(".")
            found[name] = arrays[GENOTYPE] if name == GENOTYPE else arrays[who][column]
        return found

    def state(self, number: int, search: NoveltySearch | None = None) -> SearchState:
        """The search's state after a generation; `search` is needed where a part is the user's own."""
        search = search or self.search
        if number not in self.snapshots:
            raise RecordError(
                f"{self.path} keeps no state of generation {number}; it has {ranges(self.snapshots)}. "
                "The states of all generations are kept by `brns run ... --checkpoint-every 1`"
            )
        like = eqx.filter_eval_shape(lambda state: _emptied(search, state), search.state_shape())
        state = storage.restore(like, self.arrays("states", number), self._file("states", number))
        if not isinstance(search.estimator, Recounts):
            return state
        born = (self._facts(g)["offspring.descriptor"] for g in range(number + 1))
        return state._replace(estimator=search.estimator.recounted(state.estimator, born))

    def arrays(self, kind: str, number: int, names: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
        """What such a file holds, all of it or what is named."""
        return storage.read_arrays(self._file(kind, number), self.seal(number), names)

    def solutions(self) -> Population:
        """The solution set S of Algorithm 1: every success once, with genotype, behavior and generation of birth."""
        born = [self._facts(g) for g in range(self.last + 1)]
        return self._with_genotypes(
            {k: np.concatenate([facts[f"offspring.{k}"][facts["offspring.solved"]] for facts in born]) for k in PLAIN}
        )

    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The genotypes of individuals, from the generations where they were born."""
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born).tolist():
            columns = self.read(g, ("offspring.id", GENOTYPE))
            rows |= dict(zip(columns["offspring.id"].tolist(), columns[GENOTYPE], strict=True))
        if unknown := [i for i in ids.tolist() if i not in rows]:
            raise RecordError(f"{self.path} has no individuals {ranges(unknown)} that were born in these generations")
        return np.stack([rows[i] for i in ids.tolist()]) if rows else self.read(0, (GENOTYPE,))[GENOTYPE][:0]

    def population(self, generation: int | None = None) -> Population:
        """The survivors of a generation, by default the last, with their genotypes."""
        facts = self.read(self.last if generation is None else generation, FACTS)
        return self._with_genotypes({name: facts[f"survivors.{name}"] for name in PLAIN})

    def _with_genotypes(self, columns: Mapping[str, np.ndarray]) -> Population:
        return Population(genotype=self.genotypes(columns["id"], columns["born"]), **columns)  # ty: ignore[invalid-argument-type]

    def frame(self) -> "pandas.DataFrame":
        """A data frame with a row for each generation: the columns of progress.csv, and the seed.

        Needs pandas: `pip install 'brns[frame]'`. The seeds of a batch: `pandas.concat(r.frame() for r in records)`.
        """
        import pandas

        rows = progress.Rows(self.behavior_space)
        table = [rows.row(g, self._facts(g))._asdict() for g in self.generations]
        return pandas.DataFrame([{"seed": self.seed, **row} for row in table])

    def _facts(self, number: int) -> dict[str, np.ndarray]:
        """All columns of a generation but the offspring's genotypes, read once."""
        if number not in self._read:
            self._read[number] = self.read(number, FACTS)
        return self._read[number]


def _table(individuals: Population, names: Iterable[str]) -> np.ndarray:
    """These columns as a structured array."""
    columns = {name: np.asarray(getattr(individuals, name)) for name in names}
    fields = [(name, column.dtype, column.shape[1:]) for name, column in columns.items()]
    table = np.empty(len(individuals.id), fields)
    for name, column in columns.items():
        table[name] = column
    return table


def _emptied(search: NoveltySearch, state: SearchState) -> SearchState:
    if not isinstance(search.estimator, Recounts):
        return state
    return state._replace(estimator=search.estimator.emptied(state.estimator))


def records(path: str | os.PathLike, search: NoveltySearch | None = None) -> list[Record]:
    """The run in a directory, or the runs of several seeds that stand side by side in it.

    `search`, the experiment that made them, is for those of your own parts, as `Record` says.
    """
    path = Path(path)
    alone = (path / metadata.NAME).exists() or not path.is_dir()
    folders = [path] if alone else metadata.below(path)
    if not folders:
        raise RecordError(f"{path} is not a run and holds none: there is no run.json in it or one folder below")
    return sorted((Record(folder, search) for folder in folders), key=lambda record: record.seed)


def frame(population: Population) -> "pandas.DataFrame":
    """A data frame with a row for each individual: the columns of a `Population`; wide ones become `descriptor_0`, ...

    For elites, solutions and any population that a record gives. Needs pandas: `pip install 'brns[frame]'`.
    """
    import pandas

    made: dict[str, np.ndarray] = {}
    for name in (*PLAIN, "genotype"):
        column = np.asarray(getattr(population, name))
        made |= {name: column} if column.ndim == 1 else {f"{name}_{i}": column[:, i] for i in range(column.shape[1])}
    return pandas.DataFrame(made)
