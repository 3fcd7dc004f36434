"""A run at the terminal: its progress, Ctrl-C, and where it can be gone on from."""

import contextlib
import shlex
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

from rich.text import Text

from brns.cli.conclusion import conclude
from brns.cli.screen import console
from brns.cli.tensorboard import TensorBoard
from brns.metrics.watch import watch
from brns.runs.bar import Bar
from brns.runs.loop import Saved
from brns.runs.record import records
from brns.search import NoveltySearch


class Interrupt:
    """Ctrl-C while a run goes on: the first ends it after the generation in progress, a second ends it at once."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "Interrupt":
        self.before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        console.print("Finishing this generation; press Ctrl-C again to stop at once.")


def to_the_end(
    steps: Iterable[list[Saved]],
    generations: int,
    out: Path,
    search: NoveltySearch,
    tensorboard: bool,
    completed: int = 0,
    watch_every: int = 0,
    own: Sequence[str] = (),
) -> None:
    """Show the generations as they are saved, and end with the numbers and the pictures of the run.

    `own` are the searches of the user's own among which the run's is, as `module:object`.
    """
    again = shlex.join(["brns", "resume", str(out), *(word for text in own for word in ("--search", text))])
    with TensorBoard() if tensorboard else contextlib.nullcontext() as scalars:
        follow(steps, generations, again, scalars, completed, watch_every)
    conclude(out, records(out, search), overwrite=True)


def follow(
    steps: Iterable[list[Saved]],
    generations: int,
    again: str,
    scalars: TensorBoard | None = None,
    completed: int = 0,
    watch_every: int = 0,
) -> None:
    """Show the generations as they are saved; ends the process where the run was stopped before the last.

    `again` is the command that goes on.
    """
    number = completed
    try:
        with Interrupt() as interrupt, Bar(generations, completed, console) as bar:
            for saved in steps:
                number = saved[0].number
                bar.show([one.row for one in saved])
                for one in saved:
                    if scalars:
                        scalars.add(one.record, one.row)
                    if watch_every and number and number % watch_every == 0:
                        _watch(one)
                if interrupt.asked:
                    break
    except KeyboardInterrupt:
        _stop(f"Stopped at once. What was finished is saved; go on with: {again}")
    if number < generations:
        _stop(f"Stopped after generation {number}; all of it is saved. Go on with: {again}")


def _stop(text: str) -> None:
    console.print(text, soft_wrap=True)
    sys.exit(130)


def _watch(saved: Saved) -> None:
    text, old_ground = watch(saved.record)
    warning = Text(" The search begins to visit old ground.", style="bold") if old_ground else ""
    console.print(Text.assemble(f"Generation {saved.number}, seed {saved.record.seed}: {text}.", warning))
