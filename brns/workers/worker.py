"""A worker process: how it is started and talked to from here, and what it does there."""

import concurrent.futures
import contextlib
import ctypes
import functools
import math
import multiprocessing
import os
import pickle
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Generator
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from brns.core import Evaluation
from brns.tasks.cpu import one_thread
from brns.workers.chunks import ChunkFailed, evaluate_chunk

SECONDS_TO_START = 120.0  # beyond `timeout`, where one is set: importing JAX and the script from a slow disk takes long
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's <sys/prctl.h>


class Worker:
    """A worker process, the pipe to it, and what it is doing until when."""

    def __init__(self, timeout: float | None) -> None:
        order: concurrent.futures.Future = concurrent.futures.Future()
        _starter(os.getpid()).put(order)
        self.pipe, self.process = order.result()
        self.started = False
        self.task: bytes | None = None
        self.chunk: int | None = None
        self._set_deadline(timeout and timeout + SECONDS_TO_START)

    @property
    def idle(self) -> bool:
        return self.started and self.chunk is None

    def give(self, task: bytes, i: int, chunk: np.ndarray, key: bytes, timeout: float | None) -> None:
        self.chunk = i
        self._set_deadline(timeout)
        with contextlib.suppress(OSError), self._cut_off_when_late():  # if it has died, `hear` will find that
            self.pipe.send((None if task is self.task else task, chunk, key))
        self.task = task

    def hear(self) -> Evaluation | None:
        """Its answer; None if it is that it has started. `EOFError` or `OSError` if it has died."""
        if not self.process.is_alive():
            self._cut_off()
        with self._cut_off_when_late():
            answer = self.pipe.recv()
        if self.chunk is not None and not isinstance(answer, Evaluation):
            raise ChunkFailed(self.chunk, *answer)
        self.started = True
        self.chunk = None
        self._set_deadline(None)
        return answer

    def in_time(self) -> None:
        """`ChunkFailed` if the deadline has passed."""
        if time.monotonic() > self.deadline:
            reason = f"took more than timeout={self.timeout} seconds, and was killed"
            if not self.started:
                reason = f"a worker process did not start within {self.timeout} seconds, and was killed"
            raise ChunkFailed(self.chunk, reason)

    def end(self) -> int | None:
        """Kill the process if it still runs; its exit code."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode

    def _set_deadline(self, timeout: float | None) -> None:
        self.timeout = timeout
        self.deadline = time.monotonic() + (timeout or math.inf)

    @contextlib.contextmanager
    def _cut_off_when_late(self) -> Generator[None]:
        """Talking to a frozen process with a full pipe, or to one frozen in mid-sentence, ends at the deadline."""
        if self.timeout is None:
            yield
            return
        timer = threading.Timer(self.deadline - time.monotonic() + 0.001, self._cut_off)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _cut_off(self) -> None:
        """Kill the process, and let nobody wait for it; what it has said can still be heard."""
        self.process.kill()
        if hasattr(socket, "AF_UNIX"):  # else a process that it forked could keep the pipe open
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.pipe.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)


def _start() -> tuple[connection.Connection, SpawnProcess]:
    spawn = multiprocessing.get_context("spawn")  # a fork of a process that runs JAX's threads can hang
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, os.getpid()), daemon=True)  # ends with us
    with _environment(), _without_ctrl_c():
        process.start()
    there.close()
    return here, process


@functools.cache
def _starter(process: int) -> queue.SimpleQueue[concurrent.futures.Future]:
    """Orders to the thread of this process that starts all workers.

    It lives as long as the process does: Linux takes the end of the thread that started a worker for its parent's.
    """
    orders: queue.SimpleQueue[concurrent.futures.Future] = queue.SimpleQueue()

    def start_workers() -> None:
        while True:
            order = orders.get()
            try:
                order.set_result(_start())
            except BaseException as error:
                order.set_exception(error)

    threading.Thread(target=start_workers, name="starts workers", daemon=True).start()
    return orders


_ENVIRONMENT = threading.Lock()


@contextlib.contextmanager
def _environment() -> Generator[None]:
    """Processes that start meanwhile use one core each, and leave the accelerator to the search."""
    with _ENVIRONMENT:
        before = dict(os.environ)
        ours = {"JAX_PLATFORMS": "cpu", **one_thread()}
        os.environ.update(ours)
        try:
            yield
        finally:
            for name in ours:
                del os.environ[name]
            os.environ.update(before)


@contextlib.contextmanager
def _without_ctrl_c() -> Generator[None]:
    """Processes that start meanwhile do not hear Ctrl-C until they say that it is not for them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: connection.Connection, search: int) -> None:
    """A worker's life: it says that it is there, then answers chunk after chunk, until the search's process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which finishes its generation
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    multiprocessing.current_process().daemon = False  # a task may have processes of its own
    _end_with(search)
    task: Any = None
    with contextlib.suppress(EOFError, OSError):  # the search has gone
        pipe.send(None)
        while True:
            pickled, genotypes, key = pipe.recv()
            try:
                task = task if pickled is None else pickle.loads(pickled)
                answer = evaluate_chunk(task, genotypes, pickle.loads(key))
            except Exception as error:
                answer = f"raised {type(error).__name__}: {_text(error)}", traceback.format_exc()
            pipe.send(answer)


def _end_with(search: int) -> None:
    """End with the search's process, even in the middle of a chunk, and even if it was killed.

    A thread waits for that; on Linux the system does too, which also ends code in C that keeps the interpreter's lock.
    """
    threading.Thread(target=_follow_parent, daemon=True).start()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != search:  # it ended before
            os._exit(1)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"(its text cannot be made: {type(second).__name__})"
