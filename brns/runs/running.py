"""Whether a run is being written: asked by records and, without NumPy, by `brns runs`."""

import fcntl
from pathlib import Path


def is_running(folder: Path) -> bool:
    """Whether a process holds the lock of the run in a folder;
    where there are no locks nobody is seen.
    """
    try:
        with open(folder / "lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # never locked
        pass
    return False
