"""`run.json`: what a run is; refused where it is damaged or of another format."""

import dataclasses
import datetime
import secrets
import zlib
from collections.abc import Sequence
from typing import Any, Literal

import pydantic

from brns.experiments.names import find_names_and_changed_settings
from brns.formatting import escape_control
from brns.runs.files import RecordError
from brns.runs.provenance import collect_provenance, read_sources
from brns.runs.remaking import Keep
from brns.runs.seeds import count_parallel_batches
from brns.runs.store import NAME, Store
from brns.search import NoveltySearch
from brns.settings import edits
from brns.settings.description import check_recordable, part_to_json
from brns.settings.differences import find_differences, follow_moved_paths, format_diff, short_repr
from brns.settings.parts import PLACES
from brns.tasks.chunked import unwrap_task

ALIKE = ("command", "machine.cores")
"""what may differ between processes that compute the same bits"""


class Facts(pydantic.BaseModel):
    """A part of run.json, with no other fields and types than it says."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid", ser_json_inf_nan="constants")


class Forked(Facts):
    """Which run a fork was, after which generation, and what was changed."""

    path: str
    id: str
    generation: int
    changed: dict[str, tuple[Any, Any]]


Status = Literal["running", "finished", "saturated", "stopped", "interrupted", "failed"]
"""how the work on a run ended, or that it has not"""


def check_recordable_search(search: Any) -> None:
    """Refuse a task, or anything else, in place of a search, and a part that is a tuple."""
    if not isinstance(search, NoveltySearch):
        raise ValueError(
            f"a run needs a search, as in brns.NoveltySearch(task); got {short_repr(search)}"
        )
    for name in dict.fromkeys(PLACES.values()):
        if isinstance(part := getattr(search, name), tuple):
            raise ValueError(
                f"a record needs the names of settings, and keeps none of a tuple: make the {name} "
                f"a frozen dataclass or an equinox.Module; got the NamedTuple {type(part).__name__}"
            )


def format_time_now() -> str:
    """In UTC, as ISO 8601 writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat()


class Session(Facts):
    """The work of one process on a run, which begins now if nothing else is said."""

    after: int
    """the generation that it went on from"""
    began: str = pydantic.Field(default_factory=format_time_now)
    ended: str | None = None
    """None of a session that goes on, and of one that was killed until the run is resumed"""
    status: Status = "running"
    reason: str = ""
    """of a session that failed, the error"""
    provenance: dict[str, Any] = pydantic.Field(default_factory=collect_provenance)
    """the command, commit, machine, device and versions"""

    def find_differences_here(self) -> dict[str, tuple[Any, Any]]:
        """What of its machine, versions and options is otherwise here: name to both."""
        changed = find_differences(self.provenance, collect_provenance())
        return {name: both for name, both in changed.items() if name not in ALIKE}


class Edit(Facts):
    """A change of the user's own code with which a run went on."""

    after: int
    """the generation that it went on from"""
    before: dict[str, str]
    """the code until then of what was changed"""


class Metadata(Facts):
    """All that run.json says."""

    format: Literal[13]
    id: str
    experiment: dict[str, Any]
    task: str
    """its name on the command line, or a user's class"""
    estimator: str
    changed: dict[str, Any]
    """as the command line calls them"""
    changing: list[str] = []
    """settings and values that evaluations changed, such as a counter: they tell no experiment"""
    behavior_space: dict[str, list[float]]
    seed: int
    seeds: list[int]
    """all that were started together"""
    left_out: list[int] = []
    """those of them without which the others went on"""
    seed_batches: int
    generations: int
    checkpoint_every: int
    genotypes: Keep
    sources: dict[str, str]
    """the user's own code, by name"""
    edits: list[Edit] = []
    sessions: list[Session] = []
    command: str
    commit: str
    machine: dict[str, Any]
    device: str
    xla_flags: str
    versions: dict[str, str]
    forked: Forked | None = None
    checksum: int = 0
    """CRC-32 of all else"""

    @property
    def batch_seeds(self) -> list[int]:
        """The seeds that go on together, in order."""
        return sorted(set(self.seeds) - set(self.left_out))

    def get_sources_at(self, generation: int) -> dict[str, str]:
        """The user's own code by which a generation was made, by name."""
        sources = self.sources
        for edit in reversed(self.edits):
            if edit.after >= generation:
                sources = sources | edit.before
        return sources

    def find_different_settings(self, search: NoveltySearch) -> dict[str, tuple[Any, Any]]:
        """As `Record.find_different_settings`."""
        check_recordable_search(search)
        before, here = self.experiment, part_to_json(search)
        if before != here:
            before = follow_moved_paths(before, here, read_sources(search).folders)
        changing = [*self.changing, *list_changing_task_settings(search, self.experiment)]
        return find_differences(before, here, changing)

    def add_changing(self, names: Sequence[str]) -> None:
        """Note settings and values that evaluations changed, each once."""
        self.changing = [*dict.fromkeys((*self.changing, *names))]

    def collect_evaluation_side_effects(self, search: NoveltySearch) -> list[str]:
        """The settings, and values that the user's code reads, that evaluations changed by now."""
        source, settings = read_sources(search), [*self.find_different_settings(search)]
        prefix = _prefix_of_task(self.experiment)
        inner = {name.removeprefix(prefix) for name in settings if name.startswith(prefix)}
        edits.CHANGED_SETTINGS.setdefault(type(unwrap_task(search.task)), set()).update(inner)
        edits.ignore_side_effects(self.sources, source)
        settings += list_changing_task_settings(search, self.experiment)
        return [*settings, *edits.list_evaluation_side_effects(source)]

    def compute_checksum_of_fields(self) -> int:
        """The checksum that it should have."""
        return zlib.crc32(self.model_dump_json(exclude={"checksum"}).encode())


def make_metadata_of_each_seed(
    search: NoveltySearch,
    seeds: Sequence[int],
    generations: int,
    checkpoint_every: int,
    genotypes: Keep = "survivors",
    name: str | None = None,
) -> list[Metadata]:
    """The metadata of runs that are begun together, one for each seed, without a session."""
    check_recordable(dataclasses.replace(search, task=unwrap_task(search.task)), "search")
    space = search.task.behavior_space
    source, experiment = read_sources(search), part_to_json(search)
    edits.discard_compiled_if_edited(source)
    changing = list_changing_task_settings(search, experiment)
    task_name, estimator, changed = find_names_and_changed_settings(search, name)
    first = Metadata(
        format=13,
        id="",
        experiment=experiment,
        task=task_name,
        estimator=estimator,
        changed=changed,
        behavior_space={"low": space.low.tolist(), "high": space.high.tolist()},
        seed=seeds[0],
        seeds=list(seeds),
        seed_batches=count_parallel_batches(search.task, len(seeds)),
        generations=generations,
        checkpoint_every=checkpoint_every,
        genotypes=genotypes,
        changing=[*changing, *edits.list_evaluation_side_effects(source)],
        sources=source.texts,
        **collect_provenance(),
    )
    by_seed = [{"seed": seed, "id": secrets.token_hex(8)} for seed in seeds]
    return [first.model_copy(update=facts, deep=True) for facts in by_seed]


def list_changing_task_settings(search: NoveltySearch, experiment: dict[str, Any]) -> list[str]:
    """The settings of the task that evaluations of this process changed."""
    names = edits.CHANGED_SETTINGS.get(type(unwrap_task(search.task)), ())
    return sorted(_prefix_of_task(experiment) + name for name in names)


def _prefix_of_task(experiment: dict[str, Any]) -> str:
    """What comes before the settings of the task itself, which may be evaluated in chunks."""
    return "task.task." if experiment["task"]["name"] == "Chunked" else "task."


def write_metadata(store: Store, metadata: Metadata) -> None:
    """Write a run's `run.json`, whole or not at all."""
    metadata.checksum = metadata.compute_checksum_of_fields()
    store.write_run_json_bytes(metadata.model_dump_json(indent=1).encode())


def read_metadata(store: Store) -> Metadata:
    """What a run's `run.json` says; a `RecordError` where it is damaged or of another version."""
    file = store.path / NAME
    try:
        metadata = Metadata.model_validate_json(store.read_run_json_bytes())
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or NAME  # the whole file, which is no JSON
        text = f"{file} is not of a run that this version of brns reads: {place}: {first['msg']}"
        raise RecordError(text) from None
    if metadata.checksum != metadata.compute_checksum_of_fields():
        raise RecordError(f"{file} is damaged: its checksum does not match")
    return metadata


def describe_fork(metadata: Metadata) -> str:
    """Where a fork comes from, in a sentence; empty for other runs."""
    if (forked := metadata.forked) is None:
        return ""
    place = f"{forked.path} after generation {forked.generation}"
    changed = format_diff(forked.changed) or "nothing changed"
    return escape_control(f"Forked from {place}: {changed}.")
