"""A run at the terminal: its progress and Ctrl-C."""

import contextlib
import shlex
import signal
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from threading import Event
from types import FrameType

from brns.cli.screen import console
from brns.cli.tensorboard import TensorBoard
from brns.metrics.watch import watch
from brns.runs.bar import Bar
from brns.runs.loop import SavedGeneration


def going_on(out: Path, own: Sequence[str] = ()) -> str:
    """The command that goes on with a run; `own` are the user's searches that it needs, as `module:object`."""
    words = ["brns", "resume", str(out)]
    for text in own:
        words += ["--search", text]
    return shlex.join(words)


def follow(
    steps: Iterable[list[SavedGeneration]],
    generations: int,
    again: str,
    tensorboard: bool = False,
    completed: int = 0,
    watch_every: int = 0,
) -> None:
    """Show the generations as they are saved; a `KeyboardInterrupt` names the command that goes on."""
    number = completed
    try:
        with (
            TensorBoard() if tensorboard else contextlib.nullcontext() as scalars,
            _first_ctrl_c() as asked,
            Bar("generation", console, found="compiling") as bar,
        ):
            for saved in steps:
                number = saved[0].number
                bar.show([one.row for one in saved], generations)
                for one in saved:
                    if scalars:
                        scalars.add(one.record, one.row)
                    if watch_every and number and number % watch_every == 0:
                        _watch(one)
                if asked.is_set():
                    break
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped at once; all finished is saved. Go on with: {again}") from None
    if number < generations:
        raise KeyboardInterrupt(f"Stopped after generation {number}; all of it is saved. Go on with: {again}")


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


def _watch(saved: SavedGeneration) -> None:
    text, old_ground = watch(saved.record)
    warning = " The search begins to visit old ground." if old_ground else ""
    console.print(f"Generation {saved.number}, seed {saved.record.seed}: {text}.{warning}")
