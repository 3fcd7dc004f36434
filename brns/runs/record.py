"""A run on disk: a directory that NumPy alone can read, that no crash can spoil, and that can run no code.

docs/records says what each file holds. Generation 0 holds the founders.
"""

import functools
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns.checks import refuse_nan, refuse_not_finite
from brns.core import Box, Generation, Population, Recounts, begun, founding
from brns.metrics.numbers import ranges
from brns.runs import metadata, progress, storage
from brns.runs.storage import RecordError, numbers_in
from brns.search import NoveltySearch, SearchState, keys
from brns.settings import SettingsError, build, changes, describe, told

if TYPE_CHECKING:
    import pandas

PLAIN = tuple(column for column in Population._fields if column != "genotype")
TABLES = {"offspring": PLAIN, "survivors": PLAIN, "parents": ("id", "novelty")}
FACTS = tuple(f"{who}.{name}" for who, names in TABLES.items() for name in names)
GENOTYPE = "offspring.genotype"
ROUNDING = 1e-4
"""as a share of the genotypes' box, between the genotypes on disk and those that are made again"""
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
        self._read: dict[int, dict[str, np.ndarray]] | None = {}  # what was read of each generation
        if search is not None:
            if other := changes(self.experiment, describe(search)):
                raise RecordError(f"{self.path} was made by another experiment: {told(other)}")
            self.search = search

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Record({str(self.path)!r}, seed={self.seed}, generations={self.last} of {self.planned})"

    def _repr_html_(self) -> str:
        return _notebook([self])

    @property
    def generations(self) -> list[int]:
        """The finished generations, from 0, the founders."""
        numbers = numbers_in(self.path / "generations")
        if not numbers or numbers != list(range(len(numbers))):
            raise RecordError(
                f"{self.path} lacks generations: it has {ranges(numbers)}; a file was removed"
            )
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
        self.append(0, founding(state.population), state.credit)
        self.checkpoint(search, state, before=-1)

    def append(self, number: int, generation: Generation, credit: np.ndarray | jax.Array) -> None:
        """Save one generation's facts. They survive this process, and from the next checkpoint on a power failure."""
        refuse_not_finite(number, generation)
        arrays = {
            who: storage.table(getattr(generation, who), names) for who, names in TABLES.items()
        }
        kept = (
            np.isin(arrays["offspring"]["id"], arrays["survivors"]["id"])
            | arrays["offspring"]["solved"]
        )
        genotypes = np.asarray(generation.offspring.genotype)[kept]
        self.write(
            "generations",
            number,
            arrays | {"kept": kept, GENOTYPE: genotypes, "credit": credit},
            synced=False,
        )

    def checkpoint(self, search: NoveltySearch, state: SearchState, before: int) -> None:
        """Save the estimator's state, but for what it can count again, and have the disk confirm all until now.

        `before` is the generation of the last state. That one is removed where the stride does not keep it.
        """
        number = int(state.generation)
        refuse_nan(number, state.estimator)
        with storage.saving(self.path / "generations"):
            for g in range(before + 1, number + 1):
                storage.sync(self._file("generations", g))
            storage.sync(self.path / "generations")
        self.write("states", number, storage.named_leaves(_emptied(search, state.estimator)))
        if before % self.checkpoint_every:
            self._file("states", before).unlink(missing_ok=True)

    def _file(self, kind: str, number: int) -> Path:
        return self.path / kind / f"{number:06d}.npz"

    def write(self, kind: str, number: int, arrays: Mapping[str, Any], synced: bool = True) -> None:
        """Save the file of a generation; its `kind` is generations or states."""
        storage.write_arrays(self._file(kind, number), arrays, self.seal(number), synced)

    def seal(self, number: int) -> str:
        """Where the files of a generation belong."""
        return f"generation {number} of run {self.metadata.id}"

    def go_on(self, number: int, generations: int) -> SearchState:
        """The state after a generation, to go on from to so many; what a killed process left is removed."""
        self._read = (
            None  # from now on nothing that is read stays in memory, however long the run gets
        )
        state = self.state(number)  # before anything is changed: it may be damaged
        for pattern in UNFINISHED:
            for file in self.path.glob(pattern):
                file.unlink(missing_ok=True)
        for other in self.snapshots:
            if other != number and other % self.checkpoint_every:
                self._file("states", other).unlink()
        if generations > self.planned:
            self.planned = self.metadata.generations = generations
            metadata.write(self.path, self.metadata)
        return state

    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray:
        """One column over generations, stacked: `column("survivors.descriptor")` is `(g, mu, d)`.

        By default survivors from generation 0 on, offspring and parents from 1 on: the founders are 0's offspring.
        """
        if generations is None:
            generations = [g for g in self.generations if g or name.startswith("survivors.")]
        generations = list(generations)
        if not generations:
            raise RecordError(
                f"{self.path} has no generation to read {name} of; it has {ranges(self.generations)}"
            )
        if name not in (*FACTS, GENOTYPE):
            raise RecordError(
                f"a run has no column {name!r}; it has {', '.join((*FACTS, GENOTYPE))}"
            )
        if name == GENOTYPE:
            return np.stack([self._offspring(g) for g in generations])
        who, column = name.split(".")
        return np.stack([self._facts(g)[who][column] for g in generations])

    def state(self, number: int, search: NoveltySearch | None = None) -> SearchState:
        """The search's state after a generation; `search` is needed where a part is the user's own."""
        search = search or self.search
        if number not in self.snapshots:
            raise RecordError(
                f"{self.path} keeps no state of generation {number}; it has {ranges(self.snapshots)}. "
                "A run with checkpoint_every=1 (--checkpoint-every 1) keeps all"
            )
        state, space = self._parents(number, search), search.task.behavior_space
        begins = eqx.filter_eval_shape(
            begun, search.estimator, space, state.population, jax.random.key(0)
        )
        like = eqx.filter_eval_shape(functools.partial(_emptied, search), begins[1])
        estimator = storage.restore(
            like, self.arrays("states", number), self._file("states", number)
        )
        if isinstance(search.estimator, Recounts):
            born = (
                self._facts(g, "offspring")["offspring"]["descriptor"] for g in range(number + 1)
            )
            estimator = search.estimator.recounted(estimator, born)
        return state._replace(estimator=estimator)

    def _parents(self, number: int, search: NoveltySearch) -> SearchState:
        """The search's state after a generation, without its estimator's."""
        credit, even = self._facts(number)["credit"], search.mixture.credit()
        known = credit if credit.shape == even.shape else even  # a fork may have other operators
        return SearchState(jnp.int32(number), self.population(number), None, jnp.asarray(known))

    def arrays(self, kind: str, number: int, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """What the file of a generation holds, or the arrays of these names; its `kind` is generations or states."""
        return storage.read_arrays(self._file(kind, number), self.seal(number), names)

    def solutions(self) -> Population:
        """The solution set S of Algorithm 1: every success once, with genotype, behavior and generation of birth."""
        born = [self._facts(g)["offspring"] for g in range(self.last + 1)]
        return self._with_genotypes(np.concatenate([table[table["solved"]] for table in born]))

    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The genotypes of individuals, from the generations where they were born.

        Those that are not on disk are made again, which needs the search and gives the same up to rounding; a
        `RecordError` where it gives others.
        """
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born).tolist():
            facts = self._facts(g)
            everyone, kept = facts["offspring"]["id"], facts["kept"]
            asked = np.isin(everyone, ids[born == g])
            found = (
                self._offspring(g)[asked] if asked[~kept].any() else facts[GENOTYPE][asked[kept]]
            )
            rows |= dict(zip(everyone[asked].tolist(), found, strict=True))
        if unknown := [i for i in ids.tolist() if i not in rows]:
            raise RecordError(
                f"{self.path} has no individuals {ranges(unknown)} that were born in these generations"
            )
        return np.stack([rows[i] for i in ids.tolist()]) if rows else self._facts(0)[GENOTYPE][:0]

    def _offspring(self, number: int) -> np.ndarray:
        """The genotypes of all who were born in a generation."""
        facts = self._facts(number)
        if (kept := facts["kept"]).all():
            return facts[GENOTYPE]
        before, key = (
            self._parents(number - 1, self.search),
            keys(jax.random.key(self.seed), number)[0],
        )
        again = self.search.ask(before, key)
        genotypes, space = np.array(again.genotype), self.search.task.genotype_space
        far = np.abs(genotypes[kept] - facts[GENOTYPE]) > ROUNDING * (space.high - space.low)
        if far.any() or not np.array_equal(again.parent, facts["offspring"]["parent"]):
            raise RecordError(
                f"{self.path} has only genotypes of survivors and solutions, and those of the others in generation "
                f"{number} cannot be made again here: they were drawn by other versions, {self.versions}"
            )
        genotypes[kept] = facts[GENOTYPE]
        return genotypes

    def population(self, generation: int | None = None) -> Population:
        """The survivors of a generation, by default the last, with their genotypes."""
        return self._with_genotypes(
            self._facts(self.last if generation is None else generation)["survivors"]
        )

    def _with_genotypes(self, table: np.ndarray) -> Population:
        columns = {name: table[name] for name in PLAIN}
        return Population(genotype=self.genotypes(columns["id"], columns["born"]), **columns)  # ty: ignore[invalid-argument-type]

    def frame(self) -> "pandas.DataFrame":
        """A data frame with a row for each generation: the columns of progress.csv, and the seed.

        Needs pandas: `pip install 'brns[frame]'`. The seeds of a batch: `pandas.concat(r.frame() for r in records)`.
        """
        import pandas

        rows = progress.Rows(self.behavior_space)
        table = [rows.row(g, self._facts(g))._asdict() for g in self.generations]
        return pandas.DataFrame([{"seed": self.seed, **row} for row in table])

    def _facts(self, number: int, *tables: str) -> dict[str, np.ndarray]:
        """What is on disk of a generation, read once; of a run that goes on no more than these tables, and anew."""
        if self._read is None:
            return self.arrays("generations", number, tables)
        if number not in self._read:
            if not self._file("generations", number).exists():
                raise RecordError(
                    f"{self.path} has no generation {number}; it has {ranges(self.generations)}"
                )
            self._read[number] = self.arrays("generations", number)
        return self._read[number]


def _emptied(search: NoveltySearch, estimator: Any) -> Any:
    return (
        search.estimator.emptied(estimator) if isinstance(search.estimator, Recounts) else estimator
    )


class Records(list[Record]):
    """A list of records that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return _notebook(self)


def _notebook(records: list[Record]) -> str:
    """How a notebook shows records. Pictures read records, so that nobody else here knows of them."""
    return importlib.import_module("brns.pictures.notebook").table(records)


def records(path: str | os.PathLike, search: NoveltySearch | None = None) -> Records:
    """The run in a directory, or the runs of several seeds that stand side by side in it.

    `search`, the experiment that made them, is for those of your own parts, as `Record` says.
    """
    path = Path(path)
    alone = (path / metadata.NAME).exists() or not path.is_dir()
    folders = [path] if alone else metadata.below(path)
    if not folders:
        raise RecordError(
            f"{path} is not a run and holds none: there is no run.json in it or one folder below"
        )
    return Records(
        sorted((Record(folder, search) for folder in folders), key=lambda record: record.seed)
    )
