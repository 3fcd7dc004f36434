"""A run on disk: a directory that NumPy alone can read, that no crash can spoil,
and that can run no code.

docs/records says what each file holds. Generation 0 holds the founders.
"""

import datetime
import functools
import importlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt32

from brns.checks import check_finite, check_state
from brns.core import (
    Box,
    Compactable,
    Generation,
    Population,
    Task,
    in_float32,
    init_estimator,
    initial_generation,
)
from brns.formatting import escape_control, format_range
from brns.metrics import lineage
from brns.runs import metadata, progress, remaking, sources, storage
from brns.runs.provenance import describe_process
from brns.runs.running import is_running
from brns.runs.sources import Source
from brns.runs.storage import RecordError, list_generations
from brns.search import NoveltySearch, SearchState, keys
from brns.settings import SettingsError, diff, format_diff, part_from_json, part_to_json
from brns.tasks.workers import why_failed

if TYPE_CHECKING:
    import pandas

PLAIN = tuple(column for column in Population._fields if column != "genotype")
TABLES = {"offspring": PLAIN, "survivors": PLAIN, "parents": ("id", "novelty")}
FACTS = tuple(f"{who}.{name}" for who, names in TABLES.items() for name in names)
GENOTYPE = "offspring.genotype"
UNFINISHED = (".run.*.tmp.json", "*/.*.tmp.npz")
"""what a killed process may leave of its writing"""
CHECKED = 5
"""generations whose genotypes are made again before a run goes on elsewhere"""


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
    record can stand for its directory: `brns.resume(record)`.

    Args:
        path: the run's directory.
        search: the experiment that made the run, needed where a part of it is your own.

    Raises:
        RecordError: where there is no run, it is damaged, or another experiment made it.
    """

    def __init__(self, path: str | os.PathLike, search: NoveltySearch | None = None):
        self.path = Path(path).absolute()  # the working directory may become another
        self.metadata = metadata.read(self.path)
        self.experiment = self.metadata.experiment
        self.seed = self.metadata.seed
        self.seeds = self.metadata.seeds
        self.planned = self.metadata.generations
        self.checkpoint_every = self.metadata.checkpoint_every
        self.behavior_space = Box(**self.metadata.behavior_space)
        self.versions = self.metadata.versions
        self._read: dict[int, dict[str, np.ndarray]] | None = {}  # what was read of each generation
        self._rounded = (
            False  # whether genotypes were made again up to rounding, which is said once
        )
        if search is not None:
            if other := self.other_settings(search):
                raise RecordError(
                    f"{self.path} was made by another experiment: {format_diff(other)}"
                )
            self.search = search

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return (
            f"Record({str(self.path)!r}, seed={self.seed}, generations={self.last} of "
            f"{self.planned})"
        )

    def _repr_html_(self) -> str:
        return _notebook([self])

    @property
    def generations(self) -> list[int]:
        """The finished generations, from 0, the founders."""
        numbers = list_generations(self.path / "generations")
        if not numbers or numbers != list(range(len(numbers))):
            raise RecordError(
                f"{self.path} lacks generations: it has {format_range(numbers)}; a file was removed"
            )
        return numbers

    @property
    def last(self) -> int:
        """The last finished generation."""
        return self.generations[-1]

    @property
    def snapshots(self) -> list[int]:
        """The generations whose state is on disk."""
        return list_generations(self.path / "states")

    @functools.cached_property
    def search(self) -> NoveltySearch:
        """The experiment, given or rebuilt from its description;
        `SettingsError` where a part is not one of brns'.
        """
        try:
            return part_from_json(self.experiment)
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
    def status(self) -> metadata.Status:
        """How the run stands: running, finished, saturated, stopped, interrupted or failed;
        asked of the disk anew.

        A run is `saturated` where `until=brns.saturated` ended it, and `stopped` where another
        `until` or its user's loop did. `interrupted` were Ctrl-C and whatever killed the process.
        """
        last = self._last_session()
        if last is None:
            return "stopped"  # a fork that did not go on yet
        if last.status == "running" and not is_running(self.path):
            return "interrupted"
        return last.status

    @property
    def reason(self) -> str:
        """Of a run that failed, the error; else empty."""
        last = self._last_session()
        return "" if last is None else last.reason

    @property
    def began(self) -> datetime.datetime | None:
        """When the run was started; None of a fork that did not go on yet."""
        sessions = metadata.read(self.path).sessions
        return datetime.datetime.fromisoformat(sessions[0].began) if sessions else None

    @property
    def ended(self) -> datetime.datetime | None:
        """When the work on it ended; of a run that goes on, or was killed,
        when its last generation was saved.
        """
        last = self._last_session()
        return None if last is None else self._end(last)

    @property
    def seconds(self) -> float:
        """How long it took so far, the pauses between one session and the next not counted."""
        sessions = metadata.read(self.path).sessions
        began = [datetime.datetime.fromisoformat(session.began) for session in sessions]
        spans = [self._end(session) - start for session, start in zip(sessions, began, strict=True)]
        return sum((span.total_seconds() for span in spans), 0.0)

    def _last_session(self) -> metadata.Session | None:
        sessions = metadata.read(self.path).sessions
        return sessions[-1] if sessions else None

    def _end(self, session: metadata.Session) -> datetime.datetime:
        """When a session ended. Of one that was killed the last
        generation of all is what is known.
        """
        if session.ended is not None:
            return datetime.datetime.fromisoformat(session.ended)
        saved = self._file("generations", self.last).stat().st_mtime
        began = datetime.datetime.fromisoformat(session.began)
        return max(began, datetime.datetime.fromtimestamp(saved, datetime.UTC))

    @property
    def world(self) -> dict[str, Any]:
        """The task's description; of one that was evaluated in chunks, that of the task itself."""
        task = self.experiment["task"]
        while task["name"] == "Chunked":
            task = task["task"]
        return task

    def begin(self, search: NoveltySearch, state: SearchState, lost: np.ndarray) -> None:
        """Save the founders, the state that they are in,
        and the genotypes of founders that failed.

        Args:
            search: the experiment.
            state: generation 0's.
            lost: genotypes `(f, p)` of founders that failed.
        """
        self._save(0, initial_generation(state.population), state.credit, search, len(lost))
        self._save_failures(search.task, 0, np.full(len(lost), -1), lost)
        self.checkpoint(search, state, before=-1)

    def append(
        self,
        number: int,
        generation: Generation,
        credit: np.ndarray | jax.Array,
        search: NoveltySearch,
    ) -> None:
        """Save one generation's facts. They survive this process,
        and from the next checkpoint on a power failure.

        Args:
            number: of the generation.
            generation: who was born and who survived.
            credit: of the variation operators, after it.
            search: the experiment.
        """
        offspring = generation.offspring
        failed = np.asarray(offspring.failed)
        ids, genotypes = np.asarray(offspring.id)[failed], np.asarray(offspring.genotype)[failed]
        self._save_failures(search.task, number, ids, genotypes)
        self._save(number, generation, credit, search, len(ids))

    def _save_failures(
        self, task: Task, number: int, ids: np.ndarray, genotypes: np.ndarray
    ) -> None:
        """Save who failed in a generation, and why."""
        if not len(ids):
            return
        key = keys(jax.random.key(self.seed), number)[1]
        key_data = np.asarray(jax.random.key_data(key))
        columns = {
            "id": ids,
            "genotype": genotypes,
            "key": np.tile(key_data, (len(ids), 1)),
            "text": np.array(why_failed(task, genotypes, key_data)),
        }
        self.write("failed", number, columns)

    def _save(
        self,
        number: int,
        generation: Generation,
        credit: np.ndarray | jax.Array,
        search: NoveltySearch,
        failed: int,
    ) -> None:
        check_finite(number, generation)
        arrays = {
            who: storage.to_table(getattr(generation, who), names) for who, names in TABLES.items()
        }
        survived = np.isin(arrays["offspring"]["id"], arrays["survivors"]["id"])
        lasting = survived | arrays["offspring"]["solved"]
        space = search.task.genotype_space
        born = remaking.columns(generation, space, self.metadata.genotypes, lasting)
        facts = arrays | born | {"credit": credit, "failed": failed}
        self.write("generations", number, facts, synced=False)

    def checkpoint(self, search: NoveltySearch, state: SearchState, before: int) -> None:
        """Save the estimator's state, but for what it can count again, and have the disk confirm
        all until now.

        Args:
            search: the experiment.
            state: after the generation to save.
            before: the generation of the last state, whose file is removed where the stride does
                not keep it; -1 for none.
        """
        number = int(state.generation)
        check_state(number, state.estimator)
        with storage.saving(self.path / "generations"):
            for g in range(before + 1, number + 1):
                storage.sync(self._file("generations", g))
            storage.sync(self.path / "generations")
        self.write("states", number, storage.named_leaves(_compact(search, state.estimator)))
        if before % self.checkpoint_every:
            self._file("states", before).unlink(missing_ok=True)

    def _file(self, kind: str, number: int) -> Path:
        return self.path / kind / f"{number:06d}.npz"

    def write(self, kind: str, number: int, arrays: Mapping[str, Any], synced: bool = True) -> None:
        """Save the file of a generation.

        Args:
            kind: `generations`, `states` or `failed`.
            number: of the generation.
            arrays: by name.
            synced: whether the disk confirms it now; else at the next checkpoint.
        """
        file = self._file(kind, number)
        if kind == "failed":  # a folder that most runs do not need
            with storage.saving(file):
                file.parent.mkdir(exist_ok=True)
        storage.write_arrays(file, arrays, self.seal(number), synced)

    def seal(self, number: int) -> str:
        """Where the files of a generation belong; each says so within, and is read nowhere else."""
        return f"generation {number} of run {self.metadata.id}"

    def prepare_resume(self, number: int, generations: int) -> SearchState:
        """The state after a generation, to go on from to so many;
        what a killed process left is removed.

        Args:
            number: of the generation to go on from.
            generations: how many there shall be in all.

        Returns:
            The search's state after that generation.

        Raises:
            RecordError: where the state is not there or damaged; then nothing is removed.
        """
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

    def other_settings(self, search: NoveltySearch) -> dict[str, tuple[Any, Any]]:
        """The settings in which a search differs from the one that made the run: name to both.

        Counters, logs and whatever else evaluations changed are no settings.
        """
        changing = tuple(self.metadata.changing)
        changed = diff(self.experiment, part_to_json(search))
        inner = tuple(f"{name}." for name in changing)
        return {
            name: both
            for name, both in changed.items()
            if name not in changing and not name.startswith(inner)
        }

    def edited(self, now: Source) -> dict[str, str]:
        """What differs in the user's own code from that which made the run: name to difference.

        Args:
            now: the user's own code as it is now.

        Returns:
            Name to difference; empty where nothing was edited.
        """
        return sources.difference(self.metadata.sources, now)

    def accept(self, now: Source, after: int) -> None:
        """Go on from a generation with other code, which `run.json` tells.

        Args:
            now: the other code.
            after: the generation.
        """
        old = self.metadata.sources
        before = {name: old.get(name, "") for name in self.edited(now)}
        self.metadata.edits.append(metadata.Edit(after=after, before=before))
        self.metadata.sources = now.texts
        metadata.write(self.path, self.metadata)

    def begin_session(
        self, after: int, began: datetime.datetime, provenance: dict[str, Any]
    ) -> None:
        """Write down that work on the run began.

        Args:
            after: the generation that it goes on from.
            began: when.
            provenance: where: command, machine and versions.
        """
        session = metadata.Session(after=after, began=began.isoformat(), provenance=provenance)
        self.metadata.sessions.append(session)
        metadata.write(self.path, self.metadata)

    def end_session(self, search: NoveltySearch, status: metadata.Status, reason: str = "") -> None:
        """Write down how the work on the run ended, and which settings evaluations changed.

        Args:
            search: the experiment, as evaluations left it.
            status: such as `finished`.
            reason: of a run that failed, the error.
        """
        self.metadata.changing += self.other_settings(search)
        session = self.metadata.sessions[-1]
        session.ended = datetime.datetime.now(datetime.UTC).isoformat()
        session.status, session.reason = status, reason
        metadata.write(self.path, self.metadata)

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
        generations = list(generations)
        if not generations:
            raise RecordError(
                f"{self.path} has no generation to read {name} of; it has "
                f"{format_range(self.generations)}"
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
        """The search's state after a generation.

        Args:
            number: of the generation, one of `snapshots`.
            search: the experiment, needed where a part of it is your own and the record was not
                given it.

        Returns:
            Population, the estimator's state and credits, with which `search.step` goes on.

        Raises:
            RecordError: where the generation has no state on disk.
        """
        search = search or self.search
        if number not in self.snapshots:
            raise RecordError(
                f"{self.path} keeps no state of generation {number}; it has "
                f"{format_range(self.snapshots)}. A run with checkpoint_every=1 "
                "(--checkpoint-every 1) keeps all"
            )
        state, space = self._parents(number, search), search.task.behavior_space
        begins = eqx.filter_eval_shape(
            init_estimator, search.estimator, space, state.population, jax.random.key(0)
        )
        like = eqx.filter_eval_shape(functools.partial(_compact, search), begins[1])
        estimator = storage.restore(
            like, self.arrays("states", number), self._file("states", number)
        )
        if isinstance(search.estimator, Compactable):
            born = (self._learned(g) for g in range(number + 1))
            with in_float32():
                estimator = search.estimator.restore(estimator, born)
        return state._replace(estimator=estimator)

    def _learned(self, number: int) -> np.ndarray:
        """The descriptors of a generation's offspring, without those who failed."""
        offspring = self._facts(number, "offspring")["offspring"]
        return offspring["descriptor"][~offspring["failed"]]

    def _parents(self, number: int, search: NoveltySearch) -> SearchState:
        """The search's state after a generation, without its estimator's."""
        credit, even = self._facts(number)["credit"], search.mixture.credit()
        valid = credit if credit.shape == even.shape else even  # a fork may have other operators
        return SearchState(jnp.int32(number), self.population(number), None, jnp.asarray(valid))

    def arrays(self, kind: str, number: int, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """What the file of a generation holds.

        Args:
            kind: `generations`, `states` or `failed`.
            number: of the generation.
            names: those to read; by default all.

        Returns:
            Arrays by name.

        Raises:
            RecordError: where the file is missing or damaged.
        """
        return storage.read_arrays(self._file(kind, number), self.seal(number), names)

    @property
    def failures(self) -> list[Failure]:
        """Who could not be evaluated, generation after generation; `failed/` holds them."""
        failures = []
        for number in list_generations(self.path / "failed"):
            if number <= self.last:  # a later one is of a generation that was not saved
                columns = self.arrays("failed", number)
                rows = zip(
                    *(columns[name] for name in ("id", "genotype", "key", "text")), strict=True
                )
                failures += [
                    Failure(number, int(i), genotype, key, str(text))
                    for i, genotype, key, text in rows
                ]
        return failures

    def solutions(self) -> Population:
        """The solution set S of Algorithm 1: every success once, with genotype,
        behavior and generation of birth.
        """
        born = [self._facts(g)["offspring"] for g in range(self.last + 1)]
        return self._with_genotypes(np.concatenate([table[table["solved"]] for table in born]))

    def ancestors(self, individual: int, mates: bool = True) -> Population:
        """From whom an individual descends; see `brns.metrics.lineage.ancestors`."""
        return lineage.ancestors(self, individual, mates)

    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray:
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
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born).tolist():
            facts = self._facts(g)
            everyone, stored = facts["offspring"]["id"], facts["stored"]
            requested = np.isin(everyone, ids[born == g])
            values = (
                self._offspring(g)[requested]
                if requested[~stored].any()
                else facts[GENOTYPE][requested[stored]]
            )
            rows |= dict(zip(everyone[requested].tolist(), values, strict=True))
        if unknown := [i for i in ids.tolist() if i not in rows]:
            raise RecordError(
                f"{self.path} has no individuals {format_range(unknown)} that were born in these "
                "generations"
            )
        return (
            np.stack([rows[i] for i in ids.tolist()])
            if rows
            else self._facts(0)[GENOTYPE][:0].copy()
        )

    def _offspring(self, number: int) -> np.ndarray:
        """The genotypes of all who were born in a generation."""
        facts = self._facts(number)
        if (stored := facts["stored"]).all():
            return facts[GENOTYPE]
        again, likeness = self._remake(number)
        if likeness == "other":
            raise RecordError(
                f"{self.path} has only genotypes of survivors and solutions, and those of the "
                f"others in generation {number} cannot be made again here: "
                f"{self._other_than_here(number)}"
            )
        if likeness == "rounded" and not self._rounded:
            self._rounded = True
            text = (
                f"{self.path} has only genotypes of survivors and solutions; those of others, as "
                f"in generation {number}, are made again up to rounding: "
                f"{self._other_than_here(number)}"
            )
            warnings.warn(escape_control(text), stacklevel=2)
        again[stored] = facts[GENOTYPE]
        return again

    def _remake(self, number: int) -> tuple[np.ndarray, remaking.Likeness]:
        """The genotypes of a generation made again, and how they compare with what was born."""
        key = keys(jax.random.key(self.seed), number)[0]
        again = self.search.ask(self._parents(number - 1, self.search), key)
        space = self.search.task.genotype_space
        return np.array(again.genotype), remaking.likeness(self._facts(number), again, space)

    def remakes(self, number: int) -> bool:
        """Whether the genotypes of a generation are on disk,
        or this record's search makes them again.

        Args:
            number: of the generation.

        Returns:
            True also where they are made again up to rounding.
        """
        return bool(self._facts(number)["stored"].all()) or self._remake(number)[1] != "other"

    def _other_than_here(self, number: int) -> str:
        """What differs here from where a generation was computed, in words."""
        sessions = [part for part in self.metadata.sessions if part.after < number]
        if not sessions:
            return "another search, version or machine made the run that this is a fork of"
        changed = diff(sessions[-1].provenance, describe_process())
        for name in ("command", "machine.cores"):
            changed.pop(name, None)
        if not changed:
            return "the search, or brns itself, varies otherwise than the one that made them"
        return f"they were made elsewhere, where {format_diff(changed)}"

    @property
    def elsewhere(self) -> bool:
        """Whether other versions, another machine or other options than
        here made its last generations.
        """
        last = self._last_session()
        text = set() if last is None else diff(last.provenance, describe_process()).keys()
        return bool(text - {"command", "machine.cores"})

    def check_genotypes(self) -> None:
        """Warn where genotypes that are not on disk cannot be made again here to the bit.

        It is asked before a run goes on with another version, machine or code:
        later nobody may have the old one.
        """
        numbers = self.generations[1:]
        some = numbers[:: max(len(numbers) // CHECKED, 1)]
        lacking = [g for g in some if not self._facts(g, "stored")["stored"].all()]
        genotypes = {g: self._remake(g)[1] for g in lacking}
        for likeness, word in (
            ("other", "cannot be made again"),
            ("rounded", "are made again up to rounding"),
        ):
            if wrong := [g for g, row in genotypes.items() if row == likeness]:
                text = (
                    f"{self.path}: here the genotypes of those who died at once {word} (tried: "
                    f"generations {format_range(wrong)}): {self._other_than_here(wrong[0])}. Read "
                    'them where they were made; genotypes="all" (--genotypes all) stores '
                    "everybody's in a run that begins"
                )
                warnings.warn(escape_control(text), stacklevel=2)

    def population(self, generation: int | None = None) -> Population:
        """The survivors of a generation with their genotypes.

        Args:
            generation: by default the last.

        Returns:
            Columns of NumPy arrays, the caller's own.

        Raises:
            RecordError: where the run does not have the generation.
        """
        return self._with_genotypes(
            self._facts(self.last if generation is None else generation)["survivors"]
        )

    def _with_genotypes(self, table: np.ndarray) -> Population:
        columns = {name: table[name].copy() for name in PLAIN}  # the caller's own
        genotype = self.genotypes(columns["id"], columns["born"])
        return Population(genotype=genotype, **columns)  # ty: ignore[invalid-argument-type]

    def frame(self) -> "pandas.DataFrame":
        """A data frame with a row for each generation: the columns of progress.csv, and the seed.

        Needs pandas: `pip install 'brns[frame]'`. The seeds of a batch:
        `pandas.concat(r.frame() for r in records)`.
        """
        import pandas

        rows = progress.Rows(self.behavior_space)
        table = [rows.row(g, self._facts(g))._asdict() for g in self.generations]
        return pandas.DataFrame([{"seed": self.seed, **row} for row in table])

    def _facts(self, number: int, *tables: str) -> dict[str, np.ndarray]:
        """What is on disk of a generation, read once;
        of a run that goes on no more than these tables, and anew.
        """
        if self._read is None:
            return self.arrays("generations", number, tables)
        if number not in self._read:
            if not self._file("generations", number).exists():
                raise RecordError(
                    f"{self.path} has no generation {number}; it has "
                    f"{format_range(self.generations)}"
                )
            self._read[number] = self.arrays("generations", number)
        return self._read[number]


def _compact(search: NoveltySearch, estimator: Any) -> Any:
    return (
        search.estimator.compact(estimator)
        if isinstance(search.estimator, Compactable)
        else estimator
    )


class Records(list[Record]):
    """A list of records that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return _notebook(self)


def _notebook(records: list[Record]) -> str:
    """How a notebook shows records. Pictures read records,
    so that nobody else here knows of them.
    """
    return importlib.import_module("brns.pictures.notebook").table(records)


def records(path: str | os.PathLike, search: NoveltySearch | None = None) -> Records:
    """The run in a directory, or the runs of several seeds that stand side by side in it.

    `search`, the experiment that made them, is for those of your own parts, as `Record` says.

    Args:
        path: the run's directory, or the one in which the directories of several seeds stand.
        search: the experiment that made them, needed where a part of it is your own.

    Returns:
        One record per run, by seed.

    Raises:
        RecordError: where there is no run, or another experiment made it.
    """
    path = Path(path)
    alone = (path / metadata.NAME).exists() or not path.is_dir()
    folders = [path] if alone else metadata.runs_below(path)
    if not folders:
        raise RecordError(
            f"{path} is not a run and holds none: there is no run.json in it or one folder below"
        )
    return Records(
        sorted((Record(folder, search) for folder in folders), key=lambda record: record.seed)
    )
