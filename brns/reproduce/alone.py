"""A Python module run in a process of its own, which has one core and one thread from its first moment on."""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager


def alone(module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments`; the process is bound to one core where the system can do that.

    XLA_FLAGS of the caller's stay, and ours come after them. `CalledProcessError` where it fails.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "XLA_FLAGS": flags}
    with _one_core():  # a new process inherits it
        subprocess.run([sys.executable, "-m", module, *arguments], check=True, env={**os.environ, **one_thread})


@contextmanager
def _one_core() -> Generator[None, None, None]:
    """Bind this thread, and what it starts, to the last of its cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
