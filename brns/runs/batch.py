"""Which runs go on together: those that were begun together, with the same code, each once."""

import shlex
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from brns.runs.files import RecordError
from brns.runs.metadata import Edit
from brns.runs.record import Record
from brns.runs.remaking import Keep
from brns.runs.sources import Source, difference
from brns.settings.differences import format_overrides


def check_same_arguments(
    out: Path, runs: Sequence[Record], seeds: list[int], stride: int, genotypes: Keep
) -> None:
    """A `RecordError` where the runs in a directory were begun with other arguments."""
    first = runs[0].metadata
    there = {"checkpoint_every": first.checkpoint_every, "genotypes": first.genotypes}
    requested = {"checkpoint_every": stride, "genotypes": genotypes}
    if seeds in (sorted(first.seeds), first.together) and requested == there:
        return
    was, wanted = format_overrides(there), format_overrides(requested)
    raise RecordError(
        f"{out} holds seeds {[run.seed for run in runs]} with {was}; seeds {seeds} with {wanted} "
        "were asked for; choose another place"
    )


def check_seeds_together(path: Path, runs: Sequence[Record]) -> None:
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
    for run in runs:
        together = run.metadata.together
        strange = [other for other in runs if other.seed not in together]
        if strange or (alone and together != present):
            odd = strange[0] if strange else run
            at = odd.snapshots[-1] if odd.snapshots else 0
            raise RecordError(
                f"{path} holds seeds {present}, and {run.path} was computed with seeds "
                f"{together}: resume a whole batch, or a run that was started alone. To "
                "go on with one seed alone, make a run of it: brns fork "
                f"{shlex.quote(str(odd.path))} --at {at} --out FOLDER"
            )


def last_common_checkpoint(path: Path, runs: Sequence[Record]) -> int:
    """The last generation of which all the runs have a state; a `RecordError` if there is none."""
    common = set.intersection(*(set(run.snapshots) for run in runs))
    if common:
        return max(common)
    lacking = [run.path.name for run in runs if not run.snapshots]
    which = f" in {', '.join(lacking)}" if lacking else " that all its seeds are in"
    others = "; without it the others go on" if 0 < len(lacking) < len(runs) else ""
    raise RecordError(f"{path} has no state to go on from{which}{others}: start anew")


def leave_out_missing_seeds(runs: Sequence[Record]) -> None:
    """Of a batch of which folders are missing the others go on, and are a batch from now on."""
    present = [run.seed for run in runs]
    if missing := sorted(set(runs[0].metadata.together) - set(present)):
        warnings.warn(
            f"seeds {missing} of the batch are missing: the others go on without them. Seeds of a "
            "task in JAX round together, so that the last bits of these may change",
            stacklevel=2,
        )
    for run in runs:
        run.metadata.left_out = sorted(set(run.seeds) - set(present))


def record_edits(runs: Sequence[Record], after: int, accept: bool) -> bool:
    """Whether the user's own code was edited since; without `accept` that is a `RecordError`, else
    the runs' metadata say it, with the generation `after` which they go on.
    """
    source = Source(runs[0].search)
    old = runs[0].metadata.sources
    edited = difference(old, source, runs[0].metadata.changing)
    if edited and not accept:
        raise RecordError(_describe_edits(runs[0], edited, source))
    for run in runs if edited else ():
        before = {name: old.get(name, "") for name in edited}
        run.metadata.edits.append(Edit(after=after, before=before))
        run.metadata.sources = source.texts
    return bool(edited)


def _describe_edits(run: Record, edited: Mapping[str, str], source: Source) -> str:
    """What was edited, where, and what to do."""
    parts = []
    for name, lines in edited.items():
        functions = source.functions.get(name, ())
        where = "".join(f" ({function.__code__.co_filename})" for function in functions)
        parts.append(f"{name}{where}\n{textwrap.indent(lines, '  ')}")
    return (
        f"{run.path} was made by other code of yours, and would be half of one experiment, "
        "half of another. What was edited:\n"
        + "\n".join(parts)
        + "\nStart anew in another place, or undo the edit; to go on all the same, "
        "accept_edits=True (--accept-edits)"
    )
