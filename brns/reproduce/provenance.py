"""Where numbers come from: the command, commit, machine, device and versions that made them."""

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brns.runs.provenance import PACKAGES, command, commit, device, xla_flags
from brns.runs.record import Record
from brns.tasks.cpu import cores


def here() -> dict[str, Any]:
    """That of this process; `xla_flags` because they change how sums are rounded."""
    return {
        "command": command(),
        "commit": commit(),
        "machine": {
            "processor": _processor(),
            "cores": cores(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "device": device(),
        "xla_flags": xla_flags(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES}
        | {"python": platform.python_version()},
    }


def of_runs(runs: Mapping[str, Sequence[Record]]) -> list[dict[str, Any]]:
    """What the runs' own run.json say, each different answer once, with the names of those that gave it as `rows`."""
    keys = ("commit", "versions", "machine", "device", "xla_flags")
    return grouped(
        (name, {key: record.facts[key] for key in keys if key in record.facts})
        for name, seeds in runs.items()
        for record in seeds
    )


def grouped(answers: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Each different answer once, in the order in which they come, with the names of those that gave it as `rows`."""
    found: list[dict[str, Any]] = []
    for name, said in answers:
        same = next((one for one in found if {k: v for k, v in one.items() if k != "rows"} == said), None)
        if same is None:
            found.append({**said, "rows": [name]})
        elif name not in same["rows"]:
            same["rows"].append(name)
    return found


def text(made: Mapping[str, Any]) -> str:
    """One sentence or two on one of them, whatever of it is known."""
    parts = [f"Commit {made.get('commit') or 'unknown'}"]
    if made.get("versions"):
        parts.append(", ".join(f"{name} {version}" for name, version in made["versions"].items()))
    machine = made.get("machine")
    if isinstance(machine, Mapping):
        cores = machine.get("cores")
        parts.append(str(machine.get("processor", "processor unknown")))
        parts[-1] += f", {cores} core{'s' if cores > 1 else ''}" if isinstance(cores, int) else ""
    elif machine:
        parts.append(str(machine))
    if made.get("device"):
        parts.append(f"device {made['device']}")
    if made.get("xla_flags"):
        parts.append(f"XLA_FLAGS `{made['xla_flags']}`")
    found = "; ".join(parts) + "."
    if made.get("load"):
        before, after = (made["load"][when][0] for when in ("before", "after"))
        found += (
            f" The machine's load (processes that run, mean of a minute) was {before:.2f} before the timing and "
            f"{after:.2f} at its end, of which the timing itself is 1."
        )
    return found


def _processor() -> str:
    """The processor's name, as the system tells it."""
    try:
        with open("/proc/cpuinfo") as stream:
            return next(line.split(":", 1)[1].strip() for line in stream if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
