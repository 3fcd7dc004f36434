"""A run on disk: a directory that NumPy alone can read, that no crash can spoil,
and that can run no code.

docs/records says what each file holds. Generation 0 holds the founders.
"""

import datetime
import functools
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt32

from brns.checks.parts import require_integer
from brns.core import Box, Population
from brns.formatting import format_numbers_with_ellipsis
from brns.metrics import lineage
from brns.metrics.recorded import PLAIN
from brns.runs import metadata, remaking
from brns.runs.files import RecordError
from brns.runs.paths import expand_home
from brns.runs.remaking import GENOTYPE
from brns.runs.rows import Rows
from brns.runs.states import NOTHING, restore_estimator_state
from brns.runs.store import REPAIR, Kind, Store, list_run_or_child_runs
from brns.search import NoveltySearch, SearchState
from brns.settings.description import part_from_json
from brns.settings.differences import format_diff
from brns.settings.parts import SettingsError

if TYPE_CHECKING:
    import pandas

TABLES = {"offspring": PLAIN, "survivors": PLAIN, "parents": ("id", "novelty")}
COLUMNS = (*(f"{who}.{name}" for who, names in TABLES.items() for name in names), GENOTYPE)


class Failure(NamedTuple):
    """An individual that its task could not evaluate."""

    generation: int
    id: int
    """-1 for a founder, since another stands in its place"""
    genotype: Float[np.ndarray, " p"]
    key: UInt32[np.ndarray, " k"]
    """that the task was given, as `jax.random.wrap_key_data` takes it"""
    text: str
    """the error and its traceback, or what else there is to say"""


class Record:
    """A run read back from its directory.

    `metadata` are the fields of `run.json`, such as `experiment`, every setting as nested JSON. A
    record can stand for its directory: `brns.resume(record)`. Of a run in progress it has the
    generations that were finished when it was opened: open it again to see more.

    Args:
        path: the run's directory, or what else stores a run.
        search: the experiment that made the run, needed where a part of it is your own.

    Raises:
        RecordError: where there is no run, it is damaged, or another experiment made it.
    """

    def __init__(self, path: str | os.PathLike | Store, search: NoveltySearch | None = None):
        # The working directory may become another.
        self.store = path if isinstance(path, Store) else Store(expand_home(path))
        self.metadata = metadata.read_metadata(self.store)
        self.experiment = self.metadata.experiment
        self.seed = self.metadata.seed
        self.seeds = self.metadata.seeds
        self.checkpoint_every = self.metadata.checkpoint_every
        self.behavior_space = Box(**self.metadata.behavior_space)
        self.versions = self.metadata.versions
        self._read: dict[int, dict[str, np.ndarray]] = {}  # of each generation
        self.restored: tuple[Any, int, Any] = NOTHING  # a search, and its state read last
        self.warned_of_rounding = False  # of genotypes that are made again
        if search is not None:
            if other := format_diff(self.find_different_settings(search)):
                raise RecordError(f"{self.path} was made by another experiment: {other}")
            self.search = search
        self.last_to_read: int | None = None
        """of a run in progress, later generations are left out; None reads all"""
        if self.store.locked is None and self.store.is_running():
            self.last_to_read = self.last_generation

    @property
    def path(self) -> Path:
        """Where the run is stored."""
        return self.store.path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return (
            f"Record({str(self.path)!r}, seed={self.seed}, generations={self.last_generation} of "
            f"{self.planned_generations})"
        )

    def _repr_html_(self) -> str:
        return _to_html([self])

    @property
    def planned_generations(self) -> int:
        """How many generations there shall be."""
        return self.metadata.generations

    @property
    def generations(self) -> list[int]:
        """The finished generations, from 0, the founders."""
        numbers = self.store.list_generations("generations")
        if not numbers or numbers != list(range(len(numbers))):
            missing = sorted({*range(max(numbers, default=0) + 1)} - {*numbers})
            raise RecordError(
                f"{self.path} lacks generations {format_numbers_with_ellipsis(missing)}, it has "
                f"{format_numbers_with_ellipsis(numbers)}: {REPAIR}"
            )
        return self._leave_out_later(numbers)

    @property
    def last_generation(self) -> int:
        """The last finished generation."""
        return self.generations[-1]

    @property
    def generations_with_states(self) -> list[int]:
        """The generations whose state is on disk; of a run in progress, those whose state stays."""
        numbers = self._leave_out_later(self.store.list_generations("states"))
        in_progress = self.last_to_read is not None
        return [number for number in numbers if not in_progress or self.has_lasting_state(number)]

    def has_lasting_state(self, number: int) -> bool:
        """Whether a generation's state stays when there is a newer one."""
        origin = self.metadata.forked
        first = origin.generation if origin else 0
        return number == first or number % self.checkpoint_every == 0

    def _leave_out_later(self, numbers: list[int]) -> list[int]:
        last = self.last_to_read
        return [number for number in numbers if last is None or number <= last]

    @functools.cached_property
    def search(self) -> NoveltySearch:
        """The experiment, given or rebuilt; `SettingsError` where a part is not one of brns'."""
        try:
            return part_from_json(self.experiment)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error}") from None

    @property
    def search_or_none(self) -> NoveltySearch | None:
        """The experiment; None where a part of it is a user's own and nobody gave it."""
        try:
            return self.search
        except SettingsError:
            return None

    @property
    def status(self) -> metadata.Status:
        """How the run stands: running, finished, saturated, stopped, interrupted or failed;
        asked of the disk anew.

        A run is `saturated` where `until=brns.saturated` ended it, and `stopped` where another
        `until` or its user's loop did. `interrupted` were Ctrl-C and whatever killed the process.
        """
        sessions = self._sessions
        if not sessions:
            return "stopped"  # a fork that did not go on yet
        killed = sessions[-1].status == "running" and not self.store.is_running()
        return "interrupted" if killed else sessions[-1].status

    @property
    def error(self) -> str:
        """Of a run that failed, the error; else empty."""
        sessions = self._sessions
        return sessions[-1].reason if sessions else ""

    @property
    def began(self) -> datetime.datetime | None:
        """When the run was started; None of a fork that did not go on yet."""
        spans = self._session_times()
        return spans[0][0] if spans else None

    @property
    def ended(self) -> datetime.datetime | None:
        """When the work on it ended; of one that goes on or was killed, when it last saved."""
        spans = self._session_times()
        return spans[-1][1] if spans else None

    @property
    def seconds(self) -> float:
        """How long it took so far, the pauses between one session and the next not counted."""
        return sum(((end - begin).total_seconds() for begin, end in self._session_times()), 0.0)

    @property
    def _sessions(self) -> list[metadata.Session]:
        return metadata.read_metadata(self.store).sessions

    def _session_times(self) -> list[tuple[datetime.datetime, datetime.datetime]]:
        """When the work of each session began and ended."""
        parse = self.store.parse_session_times
        return [parse(session.began, session.ended) for session in self._sessions]

    @property
    def task_settings(self) -> dict[str, Any]:
        """The task's description; of one that was evaluated in chunks, that of the task itself."""
        task = self.experiment["task"]
        return task["task"] if task["name"] == "Chunked" else task

    def find_different_settings(self, search: NoveltySearch) -> dict[str, tuple[Any, Any]]:
        """The settings in which a search differs from the one that made the run: name to both.

        Counters, logs and whatever else evaluations changed are no settings.

        Args:
            search: any search.
        """
        return self.metadata.find_different_settings(search)

    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray:
        """One column over generations, stacked.

        Args:
            name: such as `survivors.descriptor`: `survivors` or `offspring` and a column of
                `Population`, or `parents.id` and `parents.novelty`; of genotypes there is
                `offspring.genotype`.
            generations: by default all: survivors from generation 0 on, offspring and parents from
                1 on, since the founders are 0's offspring.

        Returns:
            `(g, n)`, or `(g, n, d)` where individuals have several numbers.

        Raises:
            RecordError: for a column or generation that the run does not have.
        """
        if generations is None:
            generations = [g for g in self.generations if g or name.startswith("survivors.")]
        if isinstance(generations, int | np.integer):
            raise ValueError(f"generations must be a list, such as [{generations}]")
        generations = list(generations)
        if not generations:
            raise RecordError(
                f"{self.path} has no generation to read {name} of; it has "
                f"{format_numbers_with_ellipsis(self.generations)}"
            )
        if name not in COLUMNS:
            raise RecordError(f"a run has no column {name!r}; it has {', '.join(COLUMNS)}")
        if name == GENOTYPE:
            return np.stack([remaking.read_or_remake_genotypes(self, g) for g in generations])
        who, column = name.split(".")
        return np.stack([self.read_generation_arrays(g)[who][column] for g in generations])

    def state(self, number: int, search: NoveltySearch | None = None) -> SearchState:
        """The search's state after a generation.

        Args:
            number: of the generation, one of `generations_with_states`.
            search: the experiment, needed where a part of it is your own and the record was not
                given it.

        Returns:
            Population, the estimator's state and credits, with which `search.step` goes on.

        Raises:
            RecordError: where the generation has no state on disk.
        """
        search = search or self.search
        metadata.check_recordable_search(search)
        if number not in self.generations_with_states:
            raise RecordError(
                f"{self.path} keeps no state of generation {number}; it has "
                f"{format_numbers_with_ellipsis(self.generations_with_states)}. A run with "
                "checkpoint_every=1 (--checkpoint-every 1) keeps all"
            )
        estimator = restore_estimator_state(self, number, search)
        return self.state_without_estimator(number, search)._replace(estimator=estimator)

    def state_without_estimator(self, number: int, search: NoveltySearch) -> SearchState:
        """The search's state after a generation, without its estimator's."""
        credit = self.read_generation_arrays(number)["credit"]
        even = search.mutate_as_mixture.initial_credit()
        valid = credit if credit.shape == even.shape else even  # search may have other operators
        return SearchState(jnp.int32(number), self.population(number), None, jnp.asarray(valid))

    def arrays(self, kind: Kind, number: int, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """What is stored of a generation.

        Args:
            kind: `generations`, `states` or `failed`.
            number: of the generation.
            names: those to read; by default all.

        Returns:
            Arrays by name.

        Raises:
            RecordError: where the file is missing or damaged.
        """
        return self.store.read(kind, number, self._make_seal(number), names)

    def write(
        self, kind: Kind, number: int, arrays: Mapping[str, Any], synced: bool = True
    ) -> None:
        """Store arrays of a generation, as `Store.write` does."""
        self.store.write(kind, number, self._make_seal(number), arrays, synced)

    def _make_seal(self, number: int) -> str:
        """Where the files of a generation belong; each says so within, and is read nowhere else."""
        return f"generation {number} of run {self.metadata.id}"

    @property
    def failures(self) -> list[Failure]:
        """Who could not be evaluated, generation after generation; `failed/` holds them."""
        failures, last = [], self.last_generation
        for number in self.store.list_generations("failed"):
            if number > last:  # of a generation that was not saved
                break
            table = self.arrays("failed", number)
            columns = (table[name] for name in ("id", "genotype", "key", "text"))
            for i, genotype, key, text in zip(*columns, strict=True):
                failures.append(Failure(number, int(i), genotype, key, str(text)))
        return failures

    def solutions(self) -> Population:
        """The solution set S of Algorithm 1: every success once, with genotype,
        behavior and generation of birth.
        """
        born = [self.read_generation_arrays(g)["offspring"] for g in self.generations]
        return self._to_population(np.concatenate([table[table["solved"]] for table in born]))

    def ancestors(self, individual: int, mates: bool = True) -> Population:
        """From whom an individual descends; see `brns.metrics.lineage.find_ancestors`.

        Args:
            individual: the id of somebody who was born in the run.
            mates: whether second parents count too.
        """
        return lineage.find_ancestors(self, individual, mates)

    def population(self, generation: int | None = None) -> Population:
        """The survivors of a generation with their genotypes.

        Args:
            generation: by default the last.

        Returns:
            Columns of NumPy arrays, the caller's own.

        Raises:
            RecordError: where the run does not have the generation.
        """
        number = self.last_generation if generation is None else generation
        number = require_integer("generation", number, 0)
        return self._to_population(self.read_generation_arrays(number)["survivors"])

    def _to_population(self, table: np.ndarray) -> Population:
        columns = {name: table[name].copy() for name in PLAIN}  # the caller's own
        genotype = self.genotypes(columns["id"], columns["born"])
        return Population(genotype=genotype, **columns)  # ty: ignore[invalid-argument-type]

    def genotypes(
        self, ids: Sequence[int] | np.ndarray, born: Sequence[int] | np.ndarray
    ) -> np.ndarray:
        """The genotypes of individuals.

        Those that are not on disk are made again, which needs the search and gives the same up to
        rounding.

        Args:
            ids: of the individuals, `(n,)`.
            born: the generation of each one's birth, `(n,)`.

        Returns:
            Their genotypes, `(n, p)`.

        Raises:
            RecordError: where there are no such individuals, or theirs cannot be made again.
        """
        ids, born = np.asarray(ids), np.asarray(born)
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born).tolist():
            everyone = self.read_generation_arrays(g)["offspring"]["id"]
            requested = np.isin(everyone, ids[born == g])
            genotypes = remaking.read_or_remake_genotypes(self, g, requested)[requested]
            rows |= dict(zip(everyone[requested].tolist(), genotypes, strict=True))
        if unknown := [i for i in ids.tolist() if i not in rows]:
            raise RecordError(
                f"{self.path} has no individuals {format_numbers_with_ellipsis(unknown)} that were "
                "born in these generations"
            )
        nobody = self.read_generation_arrays(0)[GENOTYPE][:0]
        return np.concatenate([nobody, *(rows[i][None] for i in ids.tolist())])

    @property
    def made_elsewhere(self) -> bool:
        """Whether its last generations were made by other versions, options or another machine."""
        sessions = self._sessions
        return bool(sessions and sessions[-1].find_differences_here())

    def to_dataframe(self) -> "pandas.DataFrame":
        """A data frame with a row for each generation: the columns of progress.csv, and the seed.

        Needs pandas: `pip install 'brns[pandas]'`. The seeds of a batch:
        `pandas.concat(r.to_dataframe() for r in records)`.
        """
        import pandas

        rows, table = Rows(self.behavior_space), []
        for g in self.generations:
            row = rows.summarize_generation(g, self.read_generation_arrays(g))
            table.append({"seed": self.seed, **row._asdict()})
        return pandas.DataFrame(table)

    def read_generation_arrays(self, number: int) -> dict[str, np.ndarray]:
        """What is stored of a generation, read once."""
        if number not in self._read:
            try:
                self._read[number] = self.arrays("generations", number)
            except RecordError:
                generations = self.generations
                if number in (*generations, *self.generations_with_states):
                    raise
                raise RecordError(
                    f"{self.path} has no generation {number}; it has "
                    f"{format_numbers_with_ellipsis(generations)}"
                ) from None
        return self._read[number]


class Records(list[Record]):
    """A list of records that a notebook shows as a table."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a list of runs has no {name}: take one, as in records[0].{name}")

    def _repr_html_(self) -> str:
        return _to_html(self)


def _to_html(records: list[Record]) -> str:
    """How a notebook shows records. Pictures read records, so that nobody here imports them."""
    return importlib.import_module("brns.pictures.notebook").format_records_table(records)


def records(path: str | os.PathLike, search: NoveltySearch | None = None) -> Records:
    """Open the run in a directory, or the runs of several seeds side by side in it.

    Args:
        path: the run's directory, or the one in which the directories of several seeds stand.
        search: the experiment that made them, needed where a part of it is your own.

    Returns:
        One record per run, by seed.

    Raises:
        RecordError: where there is no run, or another experiment made it.
    """
    if not (folders := list_run_or_child_runs(expand_home(path))):
        raise RecordError(
            f"{path} is not a run and holds none: there is no run.json in it or one folder below"
        )
    opened = []
    for folder in folders:
        try:
            opened.append(Record(folder, search))
        except RecordError as error:
            others = ". Move it elsewhere, and the other seeds go on without it"
            raise RecordError(f"{error}{others if len(folders) > 1 else ''}") from None
    return Records(sorted(opened, key=lambda record: record.seed))
