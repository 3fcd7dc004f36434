"""A run at the terminal: its progress and Ctrl-C."""

import contextlib
import shlex
import signal
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from threading import Event
from types import FrameType

from brns.cli.screen import console
from brns.runs.bar import Bar
from brns.runs.loop import SavedGeneration
from brns.runs.paths import holds_runs


def follow(
    steps: Iterable[list[SavedGeneration]],
    generations: int,
    out: Path,
    own: Sequence[str] = (),
    completed: int = 0,
) -> None:
    """Show the generations as they are saved; a `KeyboardInterrupt` names the command that goes on.

    `out` is the run's directory, `own` are the user's searches that it needs, as `module:object`.
    """
    number = completed
    words = ["brns", "resume", str(out)]
    for text in own:
        words += ["--search", text]
    again = f"Go on with: {shlex.join(words)}"
    try:
        with _first_ctrl_c() as asked, Bar("generation", console, found="compiling") as bar:
            for saved in steps:
                number = saved[0].number
                bar.show([one.row for one in saved], generations)
                if asked.is_set():
                    break
    except KeyboardInterrupt:
        if not holds_runs(out):
            raise KeyboardInterrupt("Stopped before anything was saved; run the command again.") from None
        raise KeyboardInterrupt(f"Stopped; all finished generations are saved. {again}") from None
    if number < generations:
        raise KeyboardInterrupt(f"Stopped after generation {number}, which is saved. {again}")


@contextlib.contextmanager
def _first_ctrl_c() -> Generator[Event, None, None]:
    """Within the block the first Ctrl-C sets the event, so that a generation can end; a second one interrupts."""
    asked = Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        console.print("Finishing this generation; press Ctrl-C again to stop at once.")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
