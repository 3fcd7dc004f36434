"""Environments of Gymnasium: made once for each thread, and their values checked."""

import contextlib
import importlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id
from gymnasium.vector import AutoresetMode, VectorEnv

from brns.settings.edits import count_process_edits
from brns.tasks.gymnasium.numbers import as_real_numbers

OLD = "An environment of the old Gym API needs a wrapper, such as shimmy's"


class Life:
    """Ends with what has it."""


class EnvironmentPool(threading.local):
    """A task's environments, others in each thread: closed with the thread, task or program."""

    def __init__(self):
        self.made: dict[int, Any] = {}
        self.maker: Any = None
        self.edits = count_process_edits()
        self.life = Life()
        close = weakref.finalize(self.life, _close_environments, self.made)
        if threading.current_thread() is threading.main_thread():
            # Python waits at its end for threads, before it does what else is to be done then. An
            # environment may have some that only its `close` ends.
            with contextlib.suppress(RuntimeError):  # it ends already
                threading._register_atexit(close)  # ty: ignore[missing-attribute]

    def __reduce__(self):
        return EnvironmentPool, ()  # in another process a task makes its own

    def close_if_outdated(self, maker: Any) -> None:
        """Close what another maker made, in a copy of a task, or what an edit made outdated."""
        if self.maker is not maker or self.edits != count_process_edits():
            self.edits, self.maker = count_process_edits(), maker
            self.close()

    def close(self) -> None:
        """Close this thread's environments; the next are made anew."""
        _close_environments(self.made)
        self.made.clear()

    def get_or_make(self, i: int, vector: bool = False) -> Any:
        """This thread's environment i; of a vector form the one of i environments."""
        if i not in self.made:
            if vector:
                made = make_and_check_vector_environment(self.maker, i)
            else:
                made = make_single_environment(self.maker)
            if any(made is other for other in self.made.values()):
                raise ValueError(
                    "make_env must make a new environment each time it is called; it gave the same "
                    "one twice"
                )
            self.made[i] = made
        return self.made[i]


def _close_environments(environments: dict[int, Any]) -> None:
    for env in environments.values():
        with contextlib.suppress(Exception):  # closed by its user, or by its library at the exit
            env.close()


def make_single_environment(make_env: Any, **settings: Any) -> gymnasium.Env:
    """An environment of an id, with these settings, or of a function that makes one."""
    if not isinstance(make_env, str):
        env = make_env()
        if isinstance(env, VectorEnv):
            raise ValueError("make_env made a vector environment: give vector=True too")
        if isinstance(env, type) or not hasattr(env, "observation_space"):
            raise ValueError(f"make_env must make a Gymnasium environment; got {env!r:.80}")
        return env
    try:
        return gymnasium.make(make_env, **settings)
    except (gymnasium.error.UnregisteredEnv, ModuleNotFoundError) as error:
        raise ValueError(
            f"Gymnasium knows no environment {make_env!r} here ({error}). Name the package that "
            "registers it, as 'package:Name-v0', or give a function that makes it"
        ) from error


def find_spec(name: str) -> Any:
    """What is registered under an id, if anything; the module that registers it is imported."""
    package, _, name = name.rpartition(":")
    with contextlib.suppress(ImportError, ValueError):  # of which gymnasium.make tells
        importlib.import_module(package)
    with contextlib.suppress(gymnasium.error.Error):  # of what is no id
        space, short, version = parse_env_id(name)
        latest = find_highest_version(space, short) if version is None else version
        name = get_env_id(space, short, latest)
    return gymnasium.registry.get(name)


def make_and_check_vector_environment(make_env: Any, n: int) -> VectorEnv:
    """The vector environment that a function of n makes."""
    env = make_env(n)
    if not hasattr(env, "num_envs"):
        raise ValueError(f"with vector=True make_env must make a VectorEnv; got {env!r:.80}")
    if env.num_envs != n:
        raise ValueError(
            f"make_env made {env.num_envs} environments for {n} individuals; use brns.Chunked"
        )
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    if mode != AutoresetMode.NEXT_STEP:
        raise ValueError(
            "a vector environment must have AutoresetMode.NEXT_STEP, Gymnasium's default; got "
            f"{mode}: let make_env make it so"
        )
    if not getattr(env.unwrapped, "shared_memory", True):
        raise ValueError(
            "AsyncVectorEnv needs shared_memory=True, its default: without it, in Gymnasium 1.4, "
            "an environment whose episode had ended begins anew one step after the next reset"
        )
    return env


def get_spaces(env: Any, vector: bool) -> tuple[spaces.Space, spaces.Space]:
    """Of observations and actions; of a vector environment, those of one environment."""
    form = "single_" if vector else ""
    names = f"{form}observation_space", f"{form}action_space"
    observed, acted = (getattr(env, name) for name in names)
    for name, space in zip(names, (observed, acted), strict=True):
        if not isinstance(space, spaces.Space):
            package = type(space).__module__.partition(".")[0]
            raise ValueError(
                f"{name} must be a space of `gymnasium`; got {space!r:.80} of `{package}`. {OLD}"
            )
    return observed, acted


def reset_environment(env: Any, seed: int | list[int]) -> Any:
    """The observation and the info of a reset, if they have the form of Gymnasium's API."""
    try:
        values = env.reset(seed=seed)
    except TypeError as error:
        if "'seed'" not in str(error):
            raise
        raise ValueError(
            f"reset, or what it calls, must take a seed; reset(seed={seed}): {error}. {OLD}"
        ) from error
    if type(values) is tuple and len(values) == 2 and isinstance(values[1], dict):
        return values
    raise _make_return_value_error("reset must give (observation, info)", values)


def step_environment(env: Any, action: Any) -> Any:
    """The five values of a step, if they have the form of Gymnasium's API."""
    values = env.step(action)
    if type(values) is tuple and len(values) == 5 and isinstance(values[4], dict):
        return values
    raise _make_return_value_error(
        "step must give (observation, reward, terminated, truncated, info)", values
    )


def _make_return_value_error(expected: str, values: Any) -> ValueError:
    got = type(values).__name__
    if isinstance(values, tuple):
        got = f"({', '.join(type(value).__name__ for value in values)})"
    return ValueError(f"{expected}, the info a dict; got {got}. {OLD}")


def call_observer(watch: Callable[[Any], Any], env: Any, n: int | None = None) -> np.ndarray:
    """A copy of what `watch` sees of an environment, flat; of n in a vector form a row of each."""
    seen = as_real_numbers("watch", watch(env.unwrapped)).astype(float)
    if n is not None and seen.shape[:1] != (n,):
        raise ValueError(
            f"with vector=True watch must give a row for each of {n} environments, as in "
            f"np.stack([...]); got an array of shape {seen.shape}"
        )
    return seen.ravel() if n is None else seen.reshape(n, -1)
