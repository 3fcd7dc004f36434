"""A Python module run in processes of its own, each of which has one core and one thread from its first moment on."""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, Thread

from brns.tasks.cpu import one_thread


def alone(module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments`; the process is bound to one core where the system can do that.

    XLA_FLAGS of the caller's stay, and ours come after them. `RuntimeError` where it fails.
    """
    with _bound(cores()[-1]):  # a new process inherits it
        status = subprocess.run([sys.executable, "-m", module, *arguments], env=os.environ | one_thread()).returncode
    if status:
        raise _failed(module, f"ended with status {status}")


def side_by_side(module: str, calls: Sequence[Sequence[str]], sides: int) -> Generator[str, None, None]:
    """Run `python -m module arguments` for each of the calls, so many at a time; yields what they print.

    They begin in their order. A line is handed on as soon as it comes. Each side has a core of its own, as long as
    there are enough. Where a process fails the others are ended, with a `RuntimeError`, and so they are where the
    caller stops listening.
    """
    waiting, lines, running, stopped = SimpleQueue[Sequence[str]](), SimpleQueue[str | Exception | None](), [], Event()
    for call in calls:
        waiting.put(call)

    def work(core: int | None) -> None:
        try:
            while not stopped.is_set() and not waiting.empty():
                with _bound(core):
                    process = _begun(module, waiting.get_nowait())
                running.append(process)
                if stopped.is_set():
                    process.terminate()
                with process:
                    for line in process.stdout or ():
                        lines.put(line.rstrip("\n"))
                if process.returncode:
                    lines.put(_failed(module, f"ended with status {process.returncode}"))
        except Empty:  # another side was quicker
            pass
        except Exception as error:
            lines.put(_failed(module, f"could not be begun ({error})"))
        finally:
            lines.put(None)

    sides = min(sides, len(calls))
    available = cores()
    workers = [Thread(target=work, args=(available[i % len(available)],), daemon=True) for i in range(sides)]
    for worker in workers:
        worker.start()
    try:
        while sides:
            said = lines.get()
            if isinstance(said, str):
                yield said
            elif said:
                raise said
            else:
                sides -= 1
    finally:
        stopped.set()
        for process in running:
            process.terminate()
        for worker in workers:
            worker.join()


def _failed(module: str, how: str) -> RuntimeError:
    return RuntimeError(
        f"a process of {module} {how}; what it said stands above. What was finished is saved: give the command again "
        "to go on"
    )


def cores() -> list[int | None]:
    """The cores of this process; one of no number where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):
        return [*sorted(os.sched_getaffinity(0))]
    return [None] * (os.cpu_count() or 1)


def _begun(module: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | one_thread())


@contextmanager
def _bound(core: int | None) -> Generator[None, None, None]:
    """Bind this thread, and what it starts, to a core, where the system can."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
