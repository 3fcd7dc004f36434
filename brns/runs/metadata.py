"""`run.json`: what a run is, written when it is made,
and refused where it is damaged or of another format.
"""

import dataclasses
import secrets
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pydantic

from brns.experiments import cli_name
from brns.formatting import escape_control
from brns.runs.provenance import describe_process
from brns.runs.remaking import Keep
from brns.runs.seeds import count_seed_batches
from brns.runs.sources import Source
from brns.runs.storage import RecordError, saving, write_bytes
from brns.search import NoveltySearch
from brns.settings import format_diff, part_to_json, refuse_unrecorded
from brns.tasks.workers import innermost

NAME = "run.json"
STRICT = pydantic.ConfigDict(strict=True, extra="forbid", ser_json_inf_nan="constants")


class Forked(pydantic.BaseModel):
    """Which run a fork was, after which generation, and what was changed."""

    model_config = STRICT

    path: str
    id: str
    generation: int
    changed: dict[str, tuple[Any, Any]]


Status = Literal["running", "finished", "saturated", "stopped", "interrupted", "failed"]
"""how the work on a run ended, or that it has not"""


class Session(pydantic.BaseModel):
    """The work of one process on a run, from its beginning to its end."""

    model_config = STRICT

    after: int
    """the generation that it went on from"""
    began: str
    """in UTC, as ISO 8601 writes it; so is `ended`"""
    ended: str | None = None
    """None of a session that goes on, and of one that was killed"""
    status: Status = "running"
    reason: str = ""
    """of a session that failed, the error"""
    provenance: dict[str, Any]
    """the command, commit, machine, device and versions"""


class Edit(pydantic.BaseModel):
    """A change of the user's own code with which a run went on."""

    model_config = STRICT

    after: int
    """the generation that it went on from"""
    before: dict[str, str]
    """the code until then of what was changed"""


class Metadata(pydantic.BaseModel):
    """All that run.json says."""

    model_config = STRICT

    format: Literal[10]
    id: str
    experiment: dict[str, Any]
    world: str
    estimator: str
    changed: dict[str, Any]
    """as the command line calls them"""
    changing: list[str] = []
    """settings that evaluations changed, such as a task's counter: they tell no experiment"""
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
    def together(self) -> set[int]:
        """The seeds that go on together."""
        return set(self.seeds) - set(self.left_out)

    def summed(self) -> int:
        """The checksum that it should have."""
        return zlib.crc32(self.model_dump_json(exclude={"checksum"}).encode())


def new(
    search: NoveltySearch,
    seed: int,
    seeds: Iterable[int],
    generations: int,
    checkpoint_every: int,
    genotypes: Keep = "survivors",
) -> Metadata:
    """The metadata of a run that begins. Each has an identifier of its own,
    even where all else is the same.

    Args:
        search: the experiment.
        seed: of this run.
        seeds: all that are started together.
        generations: how many there shall be.
        checkpoint_every: the stride of the states kept.
        genotypes: whose are stored: `survivors` or `all`.

    Returns:
        With what this process is made of, and no session.

    Raises:
        SettingsError: Where a setting cannot be recorded.
    """
    refuse_unrecorded(dataclasses.replace(search, task=innermost(search.task)), "search")
    space, seeds = search.task.behavior_space, list(seeds)
    return Metadata(
        format=10,
        id=secrets.token_hex(8),
        experiment=part_to_json(search),
        **cli_name(search)._asdict(),
        behavior_space={
            "low": np.asarray(space.low).tolist(),
            "high": np.asarray(space.high).tolist(),
        },
        seed=seed,
        seeds=seeds,
        seed_batches=count_seed_batches(search.task, len(seeds)),
        generations=generations,
        checkpoint_every=checkpoint_every,
        genotypes=genotypes,
        sources=Source(search).texts,
        **describe_process(),
    )


def of_seeds(first: Metadata, seeds: Iterable[int]) -> list[Metadata]:
    """The metadata of each seed of a batch.

    Args:
        first: the metadata that they share.
        seeds: of the batch.

    Returns:
        One for each seed, with an identifier of its own.
    """
    return [
        first.model_copy(update={"seed": seed, "id": secrets.token_hex(8)}, deep=True)
        for seed in seeds
    ]


def create(path: Path, metadata: Metadata) -> None:
    """Make the folder of a new run.

    Args:
        path: of the run.
        metadata: its run.json.

    Raises:
        RecordError: where the system refuses.
    """
    for folder in ("generations", "states"):
        with saving(path / folder):
            (path / folder).mkdir(parents=True)
    write(path, metadata)


def write(path: Path, metadata: Metadata) -> None:
    """Write the run.json of a run, whole or not at all.

    Args:
        path: of the run.
        metadata: what it shall say.

    Raises:
        RecordError: where the system refuses.
    """
    metadata.checksum = metadata.summed()
    write_bytes(path / NAME, metadata.model_dump_json(indent=1).encode())


def read(path: Path) -> Metadata:
    """The metadata of the run in a directory.

    Args:
        path: of the run.

    Returns:
        The fields of run.json.

    Raises:
        RecordError: where there is no run.json, or one that is damaged or of another version.
    """
    file = path / NAME
    try:
        metadata = Metadata.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        batch = f"; it holds runs, such as {runs_below(path)[0]}" if runs_below(path) else ""
        raise RecordError(f"{path} is not a run: it has no {NAME}{batch}") from None
    except OSError as error:
        raise RecordError(f"{file} cannot be read ({error.strerror})") from None
    except pydantic.ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:3]
        ]
        raise RecordError(
            f"{file} is not of a run that this version of brns reads: {'; '.join(faults)}"
        ) from None
    if metadata.checksum != metadata.summed():
        raise RecordError(f"{file} is damaged: its checksum does not match. Take a copy of it")
    return metadata


def runs_below(folder: Path) -> list[Path]:
    """The runs one folder below, but those that are being made, whose names begin with a dot.

    Args:
        folder: such as that of a batch.

    Returns:
        Their paths, by name.
    """
    return sorted(file.parent for file in folder.glob(f"[!.]*/{NAME}"))


def describe_origin(metadata: Metadata) -> str:
    """Where a fork comes from, in a sentence; empty for other runs."""
    if (forked := metadata.forked) is None:
        return ""
    changed = format_diff(forked.changed) or "nothing changed"
    return escape_control(
        f"Forked from {forked.path} after generation {forked.generation}: {changed}."
    )
