"""A run in progress: its record, its state and its numbers so far, and how it is saved."""

from collections.abc import Sequence
from typing import NamedTuple, get_args

import jax
import numpy as np

from brns.checks.generations import check_state_not_nan
from brns.core import Generation
from brns.core.population import flatten_by_name, make_initial_generation
from brns.runs import metadata, remaking
from brns.runs.arrays import to_structured_array
from brns.runs.record import TABLES, Record
from brns.runs.rows import Row, Rows
from brns.runs.states import compact_estimator_state
from brns.runs.store import Kind, Store
from brns.search import NoveltySearch, SearchState, check_generation, derive_keys
from brns.tasks.chunked import pop_failure_reasons


class SavedGeneration(NamedTuple):
    """A generation of one seed, already on disk: `brns.generations` yields it, `until` takes it."""

    record: Record
    """the run so far"""
    number: int
    """of the generation; 0 are the founders"""
    generation: Generation
    """who was born and who survived"""
    row: Row
    """its line of progress.csv: coverage, solutions and novelty so far"""


class ActiveRun:
    """A run that goes on to generation `total`; the newest state on disk is `stored`, or -1."""

    def __init__(self, record: Record, state: SearchState, total: int, stored: int):
        self.record, self.search, self.state = record, record.search, state
        self.total, self.stored = total, stored
        self.key = jax.random.key(record.seed)
        self.rows = Rows(record.behavior_space)
        self.past_rows: list[Row] = []

    @classmethod
    def begin_new(
        cls,
        store: Store,
        facts: metadata.Metadata,
        search: NoveltySearch,
        state: SearchState,
        failed: np.ndarray,
    ) -> "ActiveRun":
        """A new run, of which the founders are stored, with the genotypes of those who `failed`."""
        store.make_folder()
        metadata.write_metadata(store, facts)
        record = Record(store)
        record.search = search
        run = cls(record, state, facts.generations, stored=-1)
        run._write_failures(0, np.full(len(failed), -1), failed)
        run._write_generation(state, make_initial_generation(state.population), len(failed))
        run.checkpoint(state)
        store.write_rows([Row._fields, run.row], mode="w")
        return run

    @classmethod
    def read_stored(cls, record: Record, number: int, generations: int) -> "ActiveRun":
        """A run as it was in a generation, to go on from there; nothing on disk is changed."""
        run = cls(record, record.state(number), generations, stored=number)
        for g in range(number + 1):
            tables = record.arrays("generations", g, ("offspring", "survivors", "failed"))
            run.past_rows.append(run.rows.summarize_generation(g, tables))
        run.row = run.past_rows[-1]
        return run

    def begin_session_and_clean_up(self, exact: bool = True) -> None:
        """Begin a session, and `progress.csv` anew; remove later states, and generations that are
        not `exact` again.
        """
        record, number = self.record, self.number
        record.store.remove_temporary_files()
        if number < self.total and not exact:
            for kind in get_args(Kind):
                for later in reversed(record.store.list_generations(kind)):
                    if later > number:
                        record.store.remove(kind, later)
        self.remove_temporary_states()
        record.metadata.generations = max(record.planned_generations, self.total)
        if number < self.total:
            for last in record.metadata.sessions[-1:]:
                if last.ended is None:  # killed; what it saved last may be overwritten from now on
                    last.ended = record.store.parse_session_times(last.began, None)[1].isoformat()
                    last.status = "interrupted"
            record.metadata.sessions.append(metadata.Session(after=number))
        metadata.write_metadata(record.store, record.metadata)
        record.store.write_rows([Row._fields, *self.past_rows], mode="w")
        self.past_rows.clear()  # which nobody needs any more

    @property
    def number(self) -> int:
        """The last finished generation."""
        return int(self.state.generation)

    def make_saved_founders(self) -> SavedGeneration:
        """Generation 0, of which the founders are the offspring."""
        return self._copy_as_saved_generation(make_initial_generation(self.state.population))

    def save_generation_and_progress(
        self, state: SearchState, generation: Generation
    ) -> SavedGeneration:
        """Store a generation's facts; a checkpoint makes them safe from a power failure."""
        number, offspring = int(state.generation), generation.offspring
        failed = np.asarray(offspring.failed)
        ids, genotypes = np.asarray(offspring.id)[failed], np.asarray(offspring.genotype)[failed]
        self._write_failures(number, ids, genotypes)
        check_generation(self.search, number, generation)
        self._write_generation(state, generation, len(ids))
        self.record.store.write_rows([self.row])
        return self._copy_as_saved_generation(generation)

    def checkpoint(self, state: SearchState) -> None:
        """Store the estimator's state, but for what it can count again, and have the disk confirm
        all until now. The state before it stays, until all seeds of a batch have this one.
        """
        record, number = self.record, int(state.generation)
        check_state_not_nan(number, state.estimator)
        self.remove_temporary_states()
        record.store.sync_generations(range(self.stored + 1, number + 1))
        stored = compact_estimator_state(self.search, state.estimator)
        record.write("states", number, flatten_by_name(stored))
        self.stored = number

    def remove_temporary_states(self) -> None:
        """Remove states that the stride does not keep, but for the newest and a fork's first."""
        if self.record.checkpoint_every == 1:
            return  # it keeps all
        for number in self.record.generations_with_states:
            if number != self.stored and not self.record.has_lasting_state(number):
                self.record.store.remove("states", number)

    def end_session(
        self, status: metadata.Status, reason: str, changed: Sequence[str] = ()
    ) -> None:
        """Write down how the work ended, by which error, and which settings evaluations changed."""
        facts = self.record.metadata
        facts.add_changing(changed)
        session = facts.sessions[-1]
        session.ended, session.status, session.reason = metadata.format_time_now(), status, reason
        metadata.write_metadata(self.record.store, facts)

    def _copy_as_saved_generation(self, generation: Generation) -> SavedGeneration:
        copy = jax.tree.map(np.array, generation)  # not what the search goes on with
        return SavedGeneration(self.record, self.row.generation, copy, self.row)

    def _write_generation(self, state: SearchState, generation: Generation, failed: int) -> None:
        """Store a generation's facts, and work out its row."""
        number = int(state.generation)
        tables = {}
        for who, names in TABLES.items():
            tables[who] = to_structured_array(getattr(generation, who), names)
        survived = np.isin(tables["offspring"]["id"], tables["survivors"]["id"])
        lasting = survived | tables["offspring"]["solved"]
        space, stored = self.search.task.genotype_space, self.record.metadata.genotypes
        born = remaking.make_genotype_and_digest_columns(generation, space, stored, lasting)
        arrays = tables | born | {"credit": state.credit, "failed": failed}
        self.record.write("generations", number, arrays, synced=False)
        self.row = self.rows.summarize_generation(number, arrays)

    def _write_failures(self, number: int, ids: np.ndarray, genotypes: np.ndarray) -> None:
        """Store who failed in a generation, and why."""
        if not len(ids):
            self.record.store.remove("failed", number)  # of a process that was killed
            return
        key = np.asarray(jax.random.key_data(derive_keys(self.key, number)[1]))
        columns = {
            "id": ids,
            "genotype": genotypes,
            "key": np.tile(key, (len(ids), 1)),
            "text": np.array(pop_failure_reasons(self.search.task, genotypes, key)),
        }
        self.record.write("failed", number, columns)
