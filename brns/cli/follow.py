"""Ctrl-C at the terminal."""

import contextlib
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path

from brns.runs.paths import holds_runs


@contextlib.contextmanager
def resumable(out: Path, own: Sequence[str] = ()) -> Generator[None, None, None]:
    """Within the block a `KeyboardInterrupt` names the command that goes on.

    `out` is the run's directory, `own` are the user's searches that it needs, as `module:object`.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not holds_runs(out):
            raise KeyboardInterrupt("Stopped before anything was saved; run the command again.") from None
        words = ["brns", "resume", str(out)]
        for text in own:
            words += ["--search", text]
        told = f"Stopped; all finished generations are saved. Go on with: {shlex.join(words)}"
        raise KeyboardInterrupt(told) from None
