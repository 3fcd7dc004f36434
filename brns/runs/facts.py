"""`run.json`: what a run is, written when it is made, and refused where it was edited or cut short."""

import json
import math
import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from brns.runs.provenance import command, commit, versions, xla_flags
from brns.runs.seeds import lanes
from brns.runs.storage import RecordError, legible, write_bytes
from brns.search import NoveltySearch
from brns.settings import describe, told, unusual

NAME = "run.json"
FORMAT = 2  # 1: every genotype whole, nothing deflated
LONGEST = 2**23  # bytes; the largest maze that a record may hold takes a thirtieth of it


def _count(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least


def _box(value: Any) -> bool:
    """Whether it is `{"low": [...], "high": [...]}` with finite low < high in every dimension."""
    if not isinstance(value, dict) or not all(_finite(value.get(side)) for side in ("low", "high")):
        return False
    low, high = value["low"], value["high"]
    return len(low) == len(high) and all(a < b for a, b in zip(low, high, strict=True))


def _finite(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) is float and math.isfinite(x) for x in value)


def _part(value: Any) -> bool:
    """Whether it describes a part by its name, and within chunks another."""
    named = isinstance(value, dict) and isinstance(value.get("name"), str)
    return named and (value["name"] != "Chunked" or _part(value.get("task")))


def _forked(value: Any) -> bool:
    """Whether it says from which generation of which run a fork went on, and what was changed."""
    return (
        isinstance(value, dict)
        and _count(0)(value.get("generation"))
        and isinstance(value.get("path"), str)
        and isinstance(value.get("changed"), dict)
        and all(isinstance(pair, list) and len(pair) == 2 for pair in value["changed"].values())
    )


# What run.json must hold, beside the format, and when each is sound.
FORM: dict[str, Callable[[Any], bool]] = {
    "experiment": lambda value: (
        isinstance(value, dict) and all(_part(value.get(name)) for name in ("task", "estimator"))
    ),
    "generations": _count(1),
    "keep_every": _count(1),
    "seed": _count(0),
    "seeds": lambda value: isinstance(value, list) and bool(value) and all(map(_count(0), value)),
    "versions": lambda value: isinstance(value, dict),
}

# What it may hold: runs made before there were these have none, and only forks are forked.
LATER: dict[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None,
    "behavior_space": _box,
    "forked": _forked,
    "lanes": _count(1),
    "changed": lambda value: isinstance(value, dict),
}


def new(search: NoveltySearch, seed: int, seeds: Iterable[int], generations: int, keep_every: int) -> dict[str, Any]:
    """The facts of a run that begins. Each has an identifier of its own, even where all else is the same."""
    space, seeds = search.task.behavior_space, list(seeds)
    return {
        "format": FORMAT,
        "id": secrets.token_hex(8),
        "experiment": describe(search),
        "changed": unusual(search),
        "behavior_space": {"low": np.asarray(space.low).tolist(), "high": np.asarray(space.high).tolist()},
        "seed": seed,
        "seeds": seeds,
        "lanes": lanes(search.task, len(seeds)),
        "generations": generations,
        "keep_every": keep_every,
        "command": command(),
        "commit": commit(),
        "versions": versions(),
        "xla_flags": xla_flags(),
    }


def write(path: Path, facts: dict[str, Any]) -> None:
    """Make it the run.json of the run in a directory."""
    write_bytes(path / NAME, json.dumps(facts, indent=1).encode())


def read(path: Path) -> dict[str, Any]:
    """The facts of the run in a directory; what is not sound is a `RecordError`."""
    file = path / NAME
    try:
        if file.stat().st_size > LONGEST:
            raise ValueError(f"it has more than {LONGEST} bytes")
        facts = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        batch = f"; it holds runs, which brns.records({str(path)!r}) reads" if below(path) else ""
        raise RecordError(f"{path} is not a run: it has no {NAME}{batch}") from None
    except OSError as error:
        raise RecordError(f"{file} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RecordError(f"{file} is not JSON ({error}); it was edited or cut short") from None
    if not isinstance(facts, dict) or type(facts.get("format")) is not int:
        raise RecordError(f"{file} names no format version; it is not a run of brns")
    if facts["format"] > FORMAT:
        raise RecordError(
            f"{path} has format {facts['format']}, and this version of brns reads up to {FORMAT}; update brns"
        )
    missing = [name for name in FORM if name not in facts]
    if missing:
        raise RecordError(f"{file} lacks {', '.join(missing)}; it was edited")
    sound = FORM | {name: form for name, form in LATER.items() if name in facts}
    wrong = [f"{name}={facts[name]!r:.40}" for name, form in sound.items() if not form(facts[name])]
    if wrong:
        raise RecordError(f"{file} was edited: no run has {', '.join(wrong)}")
    return facts


def below(folder: Path) -> list[Path]:
    """The runs one folder below, but those that are being forked, whose names begin with a dot."""
    return sorted(file.parent for file in folder.glob(f"[!.]*/{NAME}"))


def origin(facts: dict[str, Any]) -> str:
    """Where a fork comes from, in a sentence; empty for other runs."""
    if (forked := facts.get("forked")) is None:
        return ""
    changed = told(forked["changed"]) or "nothing changed"
    return legible(f"Forked from {forked['path']} after generation {forked['generation']}: {changed}.")
