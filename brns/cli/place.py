"""Where a run goes when nobody says: a folder whose name tells what was run."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

LONGEST = 120  # letters of a folder's name


def default_place(experiment: str, estimator: str | None, changes: Sequence[str], seeds: range | int) -> Path:
    """Such as `runs/maze-exact-size=512-seed0`; the same settings in another order have the same place."""
    from brns.experiments import RECOMMENDED

    names = [experiment.replace(":", "-")]
    if ":" not in experiment:
        names.append(estimator or RECOMMENDED)
    for change in sorted(changes):
        setting, _, value = change.partition("=")
        names.append(f"{_plain(setting.strip().rpartition('.')[2])}={_plain(value)}")
    names.append(f"seeds{seeds[0]}-{seeds[-1]}" if isinstance(seeds, range) else f"seed{seeds}")
    name = "-".join(names)
    if len(name) > LONGEST:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{'-'.join(names[:-1])[: LONGEST - 30]}-{digest}-{names[-1]}"
    return Path("runs") / name


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", text, flags=re.ASCII).strip("_")
