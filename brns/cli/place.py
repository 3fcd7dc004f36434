"""The default directory of a run, whose name tells what was run."""

import re
from collections.abc import Sequence
from pathlib import Path


def default_place(experiment: str, estimator: str, changes: Sequence[str], seed: int, seeds: int) -> Path:
    """Such as `runs/maze-counts-grids=256-seed0`, whatever the order of the changes."""
    names = [experiment.replace(":", "-")] if ":" in experiment else [experiment, estimator]
    for change in sorted(changes):
        setting, _, value = change.partition("=")
        names.append(f"{_plain(setting.strip().rpartition('.')[2])}={_plain(value)}")
    names.append(f"seeds{seed}-{seed + seeds - 1}" if seeds > 1 else f"seed{seed}")
    return Path("runs") / "-".join(names)


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", text, flags=re.ASCII).strip("_")
