"""The runs that go on: new ones, or those in a directory that were begun together, with the same
code, each once.
"""

import contextlib
import logging
import shlex
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import SupportsIndex

import jax
import numpy as np

from brns.checks.parts import PRNG_SETTINGS, require_integer
from brns.core.population import copy_to_host
from brns.formatting import escape_control
from brns.runs import metadata
from brns.runs.active import ActiveRun
from brns.runs.files import RecordError
from brns.runs.metadata import Edit
from brns.runs.paths import make_directory_atomically
from brns.runs.provenance import collect_provenance, read_sources
from brns.runs.record import Record, records
from brns.runs.remaking import Keep, warn_unless_exact
from brns.runs.store import Store
from brns.search import NoveltySearch, SearchState
from brns.settings.description import part_to_json
from brns.settings.differences import format_changed_settings, format_diff
from brns.settings.edits import diff_code_by_name, discard_compiled_if_edited, format_edits
from brns.settings.values import is_frozen_dataclass
from brns.tasks.chunked import unwrap_task

LOG = logging.getLogger("brns")
DRAWING = (*PRNG_SETTINGS, "jax_default_prng_impl")
WRITERS = 16  # threads that save states side by side: most of the time is waiting for a disk


def begin_in_directory(
    path: Path,
    folders: Sequence[str],
    search: NoveltySearch,
    facts: Sequence[metadata.Metadata],
    locks: contextlib.ExitStack,
) -> list[ActiveRun]:
    """New runs, in these folders below a path."""
    for each in facts:
        each.sessions.append(metadata.Session(after=0))
    founders = search.population_size * len(facts)
    LOG.info("%s: compiling, and evaluating %d founders", escape_control(f"{path}"), founders)
    begun = copy_to_host([search.init_with_failures(jax.random.key(each.seed)) for each in facts])
    with make_directory_atomically(path) as hidden:  # there is no run without its founders
        stores = [Store(hidden / folder) for folder in folders]
        runs = save_founders_and_begin_runs(search, facts, begun, stores)
    for run, folder in zip(runs, folders, strict=True):
        run.record.store = Store(path / folder)
    _lock_until_closed([run.record for run in runs], locks)
    return runs


def save_founders_and_begin_runs(
    search: NoveltySearch,
    facts: Sequence[metadata.Metadata],
    begun: Sequence[tuple[SearchState, np.ndarray]],
    stores: Sequence[Store],
) -> list[ActiveRun]:
    """New runs, of which the founders are stored, from what `search.init_with_failures` gave."""
    changed = facts[0].collect_evaluation_side_effects(search)
    with ThreadPoolExecutor(WRITERS) as writers:
        saving = []
        for each, (state, failed), store in zip(facts, begun, stores, strict=True):
            each.add_changing(changed)
            saving.append(writers.submit(ActiveRun.begin_new, store, each, search, state, failed))
        return [future.result() for future in saving]


def reopen(
    path: Path,
    search: NoveltySearch | None,
    generations: SupportsIndex | None,
    accept_edits: bool,
    locks: contextlib.ExitStack,
) -> list[ActiveRun]:
    """The runs in a directory, from the last state that all of them have."""
    existing = records(path, search or records(path)[0].search)
    _lock_until_closed(existing, locks)
    for record in existing:  # on which another process may have ended its work just now
        record.metadata = metadata.read_metadata(record.store)
        record.last_to_read = None
    first = existing[0]
    check_batch_seeds(path, existing)
    check_same_prng_settings(first)
    planned = first.planned_generations
    total = planned if generations is None else require_integer("generations", generations)
    at = find_last_common_checkpoint(path, existing)
    edited = check_and_record_code_edits(existing, at, accept_edits)
    if total != planned:
        text = f"{path} was begun for {planned} generations and {total} are asked for; "
        there = f"it has {at} already, and nothing is computed"
        text += there if at >= total else f"it goes on from {at} to {total}"
        LOG.warning("%s", escape_control(text))
    exact = not edited and not any(record.made_elsewhere for record in existing)
    drop_missing_seeds(existing)
    runs = [ActiveRun.read_stored(record, at, total) for record in existing]
    for run in runs:
        run.begin_session_and_clean_up(exact)
    for record in [] if exact else existing:
        warn_unless_exact(record)
    return runs


def _lock_until_closed(runs: Sequence[Record], locks: contextlib.ExitStack) -> None:
    """Lock runs until the stack is closed; a warning says where a file system has no locks."""
    lacking = [record for record in runs if not locks.enter_context(record.store.lock())]
    if lacking:
        text = (
            f"the file system of {lacking[0].path} has no locks: see to it that no other process "
            "writes there"
        )
        warnings.warn(escape_control(text), stacklevel=2)


def check_same_arguments(
    out: Path, runs: Sequence[Record], seeds: list[int], stride: int, genotypes: Keep
) -> None:
    """A `RecordError` where the runs in a directory were begun with other arguments."""
    first = runs[0].metadata
    there = {"checkpoint_every": first.checkpoint_every, "genotypes": first.genotypes}
    requested = {"checkpoint_every": stride, "genotypes": genotypes}
    present = sorted(run.seed for run in runs)
    same_seeds = seeds in (sorted(first.seeds), first.batch_seeds, present)
    if same_seeds and requested == there:
        if missing := sorted(set(seeds) - set(first.batch_seeds)):
            text = f"seeds {missing} are missing in {out} since it went on without them"
            warnings.warn(escape_control(text), stacklevel=2)
        return
    was, wanted = format_changed_settings(there), format_changed_settings(requested)
    raise RecordError(
        f"{out} holds seeds {present} with {was}; seeds {seeds} with {wanted} "
        "were asked for; choose another place"
    )


def check_same_prng_settings(run: Record) -> None:
    """A `RecordError` where JAX would draw other random numbers here than the run's."""
    was = _select_prng_settings(run.metadata.xla_flags)
    here = _select_prng_settings(collect_provenance()["xla_flags"])
    if was != here:
        raise RecordError(
            f"{run.path} was begun with {was or 'the usual modes of JAX'}, and here are "
            f"{here or 'the usual ones'}: other random numbers would be drawn. Set them "
            "by jax.config.update as they were, or start anew in another place"
        )


def _select_prng_settings(flags: str) -> str:
    """Those of JAX's settings by which random numbers are drawn."""
    return " ".join(word for word in flags.split() if word.startswith(DRAWING))


def check_batch_seeds(path: Path, runs: Sequence[Record]) -> None:
    """A `RecordError` where a seed would go on alone, is of another batch, or is there twice."""
    present = sorted(run.seed for run in runs)
    alone = [run.path for run in runs] == [path]
    for run in runs:
        same = [other.path.name for other in runs if other.seed == run.seed]
        if len(same) > 1:
            raise RecordError(
                f"{path} holds seed {run.seed} {len(same)} times, in {', '.join(same)}: move all "
                "but one of them elsewhere"
            )
        if not alone and not run.path.name.startswith("seed"):
            raise RecordError(
                f"{path} is no run and no batch of seeds, and holds the run {run.path}: give that"
            )
        together = run.metadata.batch_seeds
        strange = [other for other in runs if other.seed not in together]
        if strange or (alone and together != present):
            odd = strange[0] if strange else run
            at = odd.generations_with_states[-1] if odd.generations_with_states else 0
            raise RecordError(
                f"{path} holds seeds {present}, and {run.path} was computed with seeds "
                f"{together}: resume a whole batch, or a run that was started alone. To "
                "go on with one seed alone, make a run of it: brns fork "
                f"{shlex.quote(str(odd.path))} --at {at} --out FOLDER"
            )


def find_last_common_checkpoint(path: Path, runs: Sequence[Record]) -> int:
    """The last generation of which all the runs have a state; a `RecordError` if there is none."""
    common = set.intersection(*(set(run.generations_with_states) for run in runs))
    if common:
        return max(common)
    lacking = [run.path.name for run in runs if not run.generations_with_states]
    which = f" in {', '.join(lacking)}" if lacking else " that all its seeds are in"
    others = "move them elsewhere, and the other seeds go on; or "
    others = others if 0 < len(lacking) < len(runs) else ""
    raise RecordError(f"{path} has no state to go on from{which}: {others}start anew")


def drop_missing_seeds(runs: Sequence[Record]) -> None:
    """Of a batch of which folders are missing the others go on, and are a batch from now on."""
    present = [run.seed for run in runs]
    if missing := sorted(set(runs[0].metadata.batch_seeds) - set(present)):
        warnings.warn(
            f"seeds {missing} of the batch are missing: the others go on without them. Seeds of a "
            "task in JAX round together, so that the last bits of these may change",
            stacklevel=2,
        )
    for run in runs:
        run.metadata.left_out = sorted(set(run.seeds) - set(present))


def check_and_record_code_edits(runs: Sequence[Record], after: int, accept: bool) -> bool:
    """Whether the user's own code was edited: refused, or with `accept` written down."""
    source = read_sources(runs[0].search)
    discard_compiled_if_edited(source)
    old = runs[0].metadata.sources
    edited = diff_code_by_name(old, source, runs[0].metadata.changing)
    if edited and not accept:
        raise RecordError(
            f"{runs[0].path} was made by other code of yours, and would be half of one experiment, "
            f"half of another. What was edited:\n{format_edits(edited, source)}\n"
            "Start anew in another place, or undo the edit; to go on all the same, "
            "accept_edits=True (--accept-edits)"
        )
    for run in runs if edited else ():
        before = {name: old.get(name, "") for name in edited}
        run.metadata.edits.append(Edit(after=after, before=before))
        run.metadata.sources = source.texts
    return bool(edited)


@contextlib.contextmanager
def refuse_settings_changed_by_hand(run: ActiveRun) -> Generator[None, None, None]:
    """A `RecordError` where whom a generation is handed out to meanwhile changes settings of a task
    that has generations to come.
    """
    task = unwrap_task(run.search.task)
    can_change = not is_frozen_dataclass(task) and run.number < run.total
    before = part_to_json(task) if can_change else None
    yield
    if not can_change or before == part_to_json(task):
        return
    if changed := run.record.find_different_settings(run.search):
        raise RecordError(
            f"{run.record.path} is of one search, whose settings were changed after generation "
            f"{run.number}: {format_diff(changed)}. To go on with others, fork the run: "
            "brns.fork(record, at=..., search=..., out=...); what is no setting has a name that "
            "begins with _"
        )
