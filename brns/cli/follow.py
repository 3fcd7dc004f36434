"""What a run that ends too early says at the terminal: how to go on."""

import contextlib
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path

from brns.runs.paths import holds_runs
from brns.runs.storage import RecordError


@contextlib.contextmanager
def resumable(out: Path, own: Sequence[str] = ()) -> Generator[None, None, None]:
    """Within the block a `KeyboardInterrupt`, or an error of the task, names the command that goes on.

    `out` is the run's directory, `own` are the user's searches that it needs, as `module:object`.
    """
    words = ["brns", "resume", str(out)]
    for text in own:
        words += ["--search", text]
    try:
        yield
    except RecordError:
        raise
    except Exception as error:
        if holds_runs(out):
            error.add_note(f"Finished generations are saved. Once this is mended, go on with: {shlex.join(words)}")
        raise
    except KeyboardInterrupt:
        if not holds_runs(out):
            raise KeyboardInterrupt("Stopped before anything was saved; run the command again.") from None
        told = f"Stopped; all finished generations are saved. Go on with: {shlex.join(words)}"
        raise KeyboardInterrupt(told) from None
