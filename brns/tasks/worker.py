"""What a process does that evaluates for a search: it takes a task, and evaluates chunks."""

import contextlib
import dataclasses
import importlib.util
import inspect
import io
import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import cloudpickle
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns import __version__
from brns.core import Evaluation, Task
from brns.core.evaluation import as_evaluation
from brns.core.forks import is_forked
from brns.settings.code import is_library_file
from brns.settings.edits import discard_compiled_if_edited, find_mismatched_code
from brns.settings.sources import UserCode

MARKED = "the task said so, by Evaluation.failed"
HELD = 4  # tasks that a worker keeps
GRACE = 5.0  # seconds for a worker to end by itself
PROCESS = secrets.token_hex(8)  # tells this process from others, on other machines too
VERSIONS = {
    "brns": __version__,
    "jax": jax.__version__,
    "numpy": np.__version__,
    "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
}
KeyData = tuple[np.ndarray, str]
"""a key as NumPy has it: its data, and the name of its generator"""

_tasks: dict[str, tuple[dict[str, Any], Task]] = {}
"""by digest, the one used last at the end; each with the settings of JAX that its search has"""
_lock = threading.Lock()  # an executor may have threads


class EvaluationError(ValueError):
    """A task failed: the message names it and the individuals, as rows of the batch from 0."""


class WorkerError(RuntimeError):
    """A worker cannot evaluate, whatever the individuals."""


def set_up_process(parent: int, log: str | None) -> None:
    """Send this process's output to the log, if any, and end it with the search's process."""
    os.setpgrp()  # what a task starts, such as a simulator, is in this group too
    for stop in (signal.SIGTTIN, signal.SIGTTOU):  # of one that is not the terminal's group
        signal.signal(stop, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search
    # A task may start processes too, which know no method of loky's.
    multiprocessing.set_start_method("spawn", force=True)
    if log is not None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with open(log, "ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)

    def exit_with_parent() -> None:
        while os.getppid() == parent and threading.main_thread().is_alive():
            time.sleep(1)
        if os.getppid() == parent:  # a thread of the task's goes on, for which Python would wait
            time.sleep(GRACE)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=exit_with_parent, daemon=True).start()


def start_jax_and_initialize(pickled: bytes | None) -> None:
    """Start JAX, and call the user's initializer; a `WorkerError` where it raises."""
    jax.block_until_ready(jax.random.bits(jax.random.key(0)))  # no chunk's timeout counts it
    if pickled is not None:
        _call_with_worker_error("the initializer", lambda: pickle.loads(pickled)())


def pickle_by_value(value: Any) -> bytes:
    """A task, environment or initializer, with classes that a script or a notebook defines."""
    pickler = _Pickler(file := io.BytesIO())
    pickler.dump(value)
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """That of cloudpickle, but the class of an `equinox.Module` is made with its fields."""

    def reducer_override(self, value: Any) -> Any:
        reduced = super().reducer_override(value)
        if not isinstance(value, type(eqx.Module)) or not isinstance(reduced, tuple):
            return reduced
        make, arguments, *rest = reduced
        own = inspect.get_annotations(value)
        fields = [each for each in dataclasses.fields(value) if each.name in own]
        static = {each.name: bool(each.metadata.get("static")) for each in fields}
        return _make_class_with_fields, (make, static, *arguments), *rest


def _make_class_with_fields(
    make: Callable[..., type], static: dict[str, bool], *arguments: Any
) -> type:
    """A class of an `equinox.Module` with nothing but fields, and whether each is static."""
    namespace = arguments[3]
    namespace["__annotations__"] = dict.fromkeys(static, object)
    for name, is_static in static.items():
        namespace[name] = eqx.field(static=is_static, kw_only=True)
    return make(*arguments)


def pickle_registered_environments() -> list[bytes]:
    """What is registered with Gymnasium, each pickled with what it names of the program itself."""
    if "gymnasium" not in sys.modules:
        return []
    main, pickled = vars(sys.modules["__main__"]), []
    for spec in sys.modules["gymnasium"].registry.values():
        module, _, name = str(spec.entry_point).partition(":")
        with contextlib.suppress(Exception):  # if a task needs this one, Gymnasium says so
            named = {name: main[name]} if module == "__main__" else {}
            pickled.append(pickle_by_value((spec, named)))
    return pickled


def cache_task_and_list_digests(digest: str, content: bytes) -> list[str]:
    """Take a task by its digest; gives the digests of all that are held then."""
    _tasks[digest] = _call_with_worker_error("the task", lambda: _load_and_check_task(content))
    while len(_tasks) > HELD:
        del _tasks[next(iter(_tasks))]
    return list(_tasks)


def _set_jax_settings(settings: dict[str, Any]) -> None:
    """Let JAX draw and round here as in the search's process."""
    for name, value in settings.items():
        if getattr(jax.config, name) != value:
            jax.config.update(name, value)


def _load_and_check_task(content: bytes) -> tuple[dict[str, Any], Task]:
    process, versions, settings, environments, pickled, code, changing = pickle.loads(content)
    for name in VERSIONS:
        if VERSIONS[name] != versions[name]:
            raise ImportError(
                f"{name} is {VERSIONS[name]} here, and {versions[name]} in the search's process, "
                "so that results may differ: install the same"
            )
    settings = {} if process == PROCESS else settings  # a thread's are those of all
    _set_jax_settings(settings)
    task = pickle.loads(pickled)  # whose module, imported now, may register them too
    if environments:
        import gymnasium

        for environment in environments:
            with contextlib.suppress(Exception):  # of a module that is not here
                spec, named = pickle.loads(environment)
                with contextlib.suppress(Exception):
                    _import_package_that_registers(spec.entry_point)
                gymnasium.registry[spec.id] = spec
                vars(sys.modules["__main__"]).update(named)
    here = UserCode(task)
    if task.traceable:
        discard_compiled_if_edited(here)
    if other := find_mismatched_code(code, changing, here):
        raise ImportError(
            f"here {', '.join(other)} is other code than the search's: its file was edited after "
            "the search imported it, or its folder here is another version, so start Python anew; "
            "or the search has set a value since, so set it in workers too, by initializer=, or "
            "make it an argument of the task"
        )
    return settings, task


def _import_package_that_registers(entry_point: str) -> None:
    """Import an installed package now: later it would register its own over the search's."""
    package = entry_point.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(package)
    if spec and spec.origin and is_library_file(spec.origin):
        importlib.import_module(package)


def _call_with_worker_error(what: str, call: Callable[[], Any]) -> Any:
    """What the call gives. Errors become texts: one of the user's own might not be picklable."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        failed = WorkerError(f"{what} raised {_first_line(error)}\n{_task_traceback(error)}")
    raise failed


def _task_traceback(error: BaseException) -> str:
    """From the task's own code on: the same wherever it was called."""
    trace = error.__traceback__
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def _first_line(error: BaseException) -> str:
    """What an error is and says, without its notes."""
    return traceback.format_exception_only(error)[0].strip()


def evaluate_and_time_packed(
    description: str, packed: tuple[str, bytes], genotypes: np.ndarray, key_data: KeyData
) -> tuple[Evaluation, float]:
    """Evaluate a chunk by a task that comes with it, or was unpacked here before; gives the seconds
    that it took, too. The description says in words what is evaluated, for errors.

    A `WorkerError` where this process is a fork of the search's, or cannot take the task; an
    `EvaluationError` where the task raises.
    """
    if is_forked():
        raise WorkerError(
            "the executor's processes are forks of the search's, in which JAX waits for ever: take "
            'mp_context=multiprocessing.get_context("spawn"), or brns.Processes'
        )
    digest, content = packed
    with _lock:
        if digest not in _tasks:
            cache_task_and_list_digests(digest, content)
        settings, task = _tasks[digest] = _tasks.pop(digest)
    _set_jax_settings(settings)
    return evaluate_and_time(description, task, genotypes, key_data)


def evaluate_and_time(
    description: str, task: Task, genotypes: np.ndarray, key_data: KeyData
) -> tuple[Evaluation, float]:
    """What a task says about one chunk, as `evaluate_and_time_packed` gives it."""
    began = time.perf_counter()
    try:
        evaluation = evaluate_chunk(task, genotypes, key_data)
        return evaluation, time.perf_counter() - began
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as text: the task's own might not be picklable
        failed = EvaluationError(f"{description} raised {_first_line(error)}")
        failed.add_note(f"In the worker:\n{_task_traceback(error)}")
    raise failed


@eqx.filter_jit
def _evaluate_jit(task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
    return task.evaluate(genotypes, key)


def evaluate_chunk(task: Task, genotypes: np.ndarray, key_data: KeyData) -> Evaluation:
    """What a task says about a chunk, checked while it is still known which chunk it was."""
    rows = jnp.asarray(genotypes)
    key = jax.random.wrap_key_data(jnp.asarray(key_data[0]), impl=key_data[1])
    evaluation = _evaluate_jit(task, rows, key) if task.traceable else task.evaluate(rows, key)
    evaluation = as_evaluation(evaluation, len(rows), task)
    return Evaluation(*map(np.asarray, evaluation))
