"""Any Gymnasium environment as a task: policies act in a batch of it,
a function of yours says what a behavior was.
"""

import contextlib
import dataclasses
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation, validate_evaluation
from brns.settings.differences import short_repr
from brns.tasks.behaviors import Bounds, Waypoints
from brns.tasks.policy import FeedForward, Genotypes, fit_policy

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space, iterate
except ImportError:
    raise ImportError("GymnasiumTask needs Gymnasium: pip install 'brns[gymnasium]'") from None

# Environments that take their steps in turn. With more a simulator's states leave the cache
# (Ant-v5: 32 are 12 % slower than 16), with fewer the product of the policies costs more than it
# saves (FlappyBird-v0: 8 are 12 % slower).
TOGETHER = 16
# In the observations of those together: of large images there are fewer,
# or their episodes fill the memory.
NUMBERS = 200_000
# A bound beyond it says that there is none, as NumPy's finfo.max and iinfo.max do.
UNBOUNDED = 1e9
# Of a default policy, beyond which a word is said.
GENES = 100_000
MAKING = threading.Lock()  # held while the standard output is away
RESET = ("observation", "info")
STEP = ("observation", "reward", "terminated", "truncated", "info")


class Episode(NamedTuple):
    """What happened in t steps of an environment."""

    observations: Float[np.ndarray, "times o"]
    """what `watch` gave, by default the observations, flattened; the first is that of the reset"""
    rewards: Float[np.ndarray, " t"]
    actions: Float[np.ndarray, "t a"]
    """flattened; of a discrete action, a one for what was chosen and zeros for the others"""
    infos: list[dict[str, Any]]
    """the environment's own; the first is that of the reset"""
    terminated: bool
    """whether the environment ended the episode, not a limit of time"""

    @property
    def length(self) -> int:
        """Steps until the end."""
        return len(self.rewards)


@runtime_checkable
class Policy(Protocol):
    """A policy of your own, such as one with a memory, a controller with a few gains,
    or another library's network.
    """

    @property
    def genotype_space(self) -> Box: ...

    def actor(
        self, genotypes: Float[np.ndarray, "n p"]
    ) -> Callable[[Float[np.ndarray, "n o"]], Any]:
        """A function from n flattened observations to n actions as `gymnasium.vector` takes them.

        It is made anew for each batch of episodes, of at most 16 unless the environment has a
        vector form.

        Args:
            genotypes: `(n, p)`; row i acts in world i.

        Returns:
            Called at each step with observations `(n, o)`.
        """


class Life:
    """Ends with what has it."""


class Worlds(threading.local):
    """A task's environments, others in each thread: closed with the thread,
    the task or the program.
    """

    def __init__(self):
        self.made: dict[int, Any] = {}
        self.life = Life()
        weakref.finalize(self.life, _close, self.made)

    def __reduce__(self):
        return Worlds, ()  # in another process a task makes its own


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment in which policies live one episode each:
    `GymnasiumTask("Pendulum-v1")`.

    Observations are flattened. With a `FeedForward`, a discrete action is the index of the largest
    output, one of each group for MultiDiscrete; a binary one is whether an output is positive. A
    continuous action is the output clipped to the bounds; a squashed output is first scaled from
    [-1, 1] to them. Whole numbers are rounded: scaled so that each has an equal share of [-1, 1].
    Fitness is the sum of the rewards.

    Sixteen individuals live side by side, each in an environment that this task made once and
    resets for each episode; `reset(seed=...)` must forget the episode before.
    `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes.
    """

    make_env: Callable[..., Any] | str
    """the environment's id, or a function that makes one; if `vector`, a function of n that makes
    n. The id `"package:Id-v0"` imports the package that registers it"""
    policy: FeedForward | Policy = None  # ty: ignore[invalid-assignment]
    """from flattened observations to actions;
    by default two hidden layers of 10 neurons and a squashed output"""
    describe: Callable[[Episode], Any] = Waypoints()
    """the behavior `(d,)` of an episode; by default its last observation"""
    behavior_space: Box = None  # ty: ignore[invalid-assignment]
    """where behaviors lie; by default the bounds that `describe` knows
    from those of observations and actions"""
    steps: int = 1000
    """most steps of an episode; an environment may have a limit of its own"""
    success: Callable[[Episode], bool] | None = None
    """whether an episode solves the task; by default none does"""
    watch: Callable[[Any], Any] | None = None
    """what `describe` sees of the unwrapped environment after each step, such as `lambda env:
    env.agent_pos`; by default the observation. If `vector`, a row for each world"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one for each generation"""
    vector: bool = False
    """whether to use the environment's own vector form; it must begin every world alike"""
    _worlds: Worlds = eqx.field(init=False, static=True, repr=False)

    traceable = False

    def __post_init__(self):
        self._worlds = Worlds()
        if not callable(self.make_env) and (self.vector or not isinstance(self.make_env, str)):
            raise ValueError(f"make_env must be an id or a function; got {self.make_env!r}")
        if self.policy is None:
            self.policy = _default_policy(*self._spaces(1))
        if self.behavior_space is None:
            self.behavior_space = self._box(*self._spaces(1))

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    @property
    def spec(self) -> Any:
        """What is registered under the environment's id; None of a function that makes one."""
        if not isinstance(self.make_env, str):
            return None
        return gymnasium.registry.get(self.make_env.rpartition(":")[2])

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        """An episode of each policy; see `Task.evaluate`."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        episodes, describe, success = self.episodes(genotypes, seed), self.describe, self.success
        descriptor: Any = [np.asarray(describe(episode)) for episode in episodes]
        fitness: Any = np.array([episode.rewards.sum() for episode in episodes])
        solved: Any = np.array([bool(success and success(episode)) for episode in episodes])
        evaluation = Evaluation(descriptor, fitness, solved)
        return validate_evaluation(evaluation, len(episodes), self)

    def episodes(self, genotypes: Genotypes, seed: int | None = None) -> list[Episode]:
        """An episode of each genotype.

        Args:
            genotypes: `(n, p)`.
            seed: of every reset; by default the task's, or 0 where the task has none.

        Returns:
            What `describe` is given, in the order of the genotypes.
        """
        genotypes, seed = np.asarray(genotypes), (self.seed or 0) if seed is None else seed
        observed, acted = self._spaces(len(genotypes))
        act = partial(_actor, acted, self.policy, _width(observed))
        if self.vector:
            return self._at_once(act(genotypes), len(genotypes), seed)
        together = max(1, min(TOGETHER, NUMBERS // _width(observed)))
        groups = np.split(genotypes, range(together, len(genotypes), together))
        return [
            episode for group in groups for episode in self._in_turn(act(group), len(group), seed)
        ]

    def _in_turn(self, act: Callable[[np.ndarray], Any], n: int, seed: int) -> list[Episode]:
        """Episodes side by side, each in an environment of its own that rests after the end."""
        observed, acted = self._spaces(1)
        make, watch = self._world, self.watch  # once: a module makes a method anew at each look
        worlds = [make(i) for i in range(n)]
        flat = _flattener(observed)
        diaries = [Diary() for _ in worlds]
        batch, rows = batch_space(acted, n), np.empty((n, _width(observed)))
        for i, env in enumerate(worlds):
            observation, info = _checked(env.reset(seed=seed), RESET)
            rows[i] = seen = flat(observation)
            diaries[i].note(seen if watch is None else _watched(watch, env), info)
        living, discrete = list(range(n)), isinstance(acted, spaces.Discrete)
        for _ in range(self.steps):
            actions = act(rows)
            # Python's integers: comparing NumPy's takes longer than many a step.
            actions = np.asarray(actions).tolist() if discrete else [*iterate(batch, actions)]
            rows = rows.copy()  # a policy may remember those before
            for i in tuple(living):
                env, diary, action = worlds[i], diaries[i], actions[i]
                observation, reward, terminated, truncated, info = _checked(env.step(action), STEP)
                diary.actions.append(action)
                diary.rewards.append(reward if type(reward) is float else _numbers(reward, 1)[0])
                rows[i] = seen = flat(observation)
                diary.note(seen if watch is None else _watched(watch, env), info)
                if terminated or truncated:
                    diary.terminated = bool(terminated)
                    living.remove(i)
            if not living:
                break
        return [diary.episode(acted) for diary in diaries]

    def _at_once(self, act: Callable[[np.ndarray], Any], n: int, seed: int) -> list[Episode]:
        """Episodes in the environment's vector form; what a world does after its end is cut off."""
        worlds = self._world(n)

        plain = isinstance(worlds.single_observation_space, spaces.Box)
        flat = _flattener(worlds.single_observation_space, n if plain else 1)

        def sense(observation: Any) -> tuple[np.ndarray, np.ndarray]:
            if plain:
                rows = flat(observation).reshape(n, -1)
            else:
                rows = np.stack([*map(flat, iterate(worlds.observation_space, observation))])
            if self.watch is None:
                return rows, rows
            return rows, _watched(self.watch, worlds).reshape(n, -1)

        observation, info = _checked(worlds.reset(seed=seed), RESET)
        row, watched = sense(observation)
        seen, rewards, actions, infos = [watched], [], [], [_copied(info)]
        lengths, living, terminated = np.zeros(n, int), np.ones(n, bool), np.zeros(n, bool)
        for _ in range(self.steps):
            actions.append(act(row))
            observation, reward, ended, truncated, info = _checked(worlds.step(actions[-1]), STEP)
            row, watched = sense(observation)
            seen.append(watched)
            rewards.append(_numbers(reward, n))
            infos.append(_copied(info))
            lengths += living
            terminated |= living & ended
            living &= ~(ended | truncated)
            if not living.any():
                break
        taken = [list(iterate(worlds.action_space, action)) for action in actions]
        episodes = []
        for i, t in enumerate(lengths.tolist()):
            diary = Diary(
                [rows[i] for rows in seen[: t + 1]],
                [reward[i] for reward in rewards[:t]],
                [action[i] for action in taken[:t]],
                [_info_of(i, n, info) for info in infos[: t + 1]],
                bool(terminated[i]),
            )
            episodes.append(diary.episode(worlds.single_action_space))
        return episodes

    def _world(self, i: int) -> Any:
        """This thread's environment i; of a vector form the one with i worlds."""
        world = self._worlds.made
        if i not in world:
            with _silent() if world else contextlib.nullcontext():
                world[i] = _vector(self.make_env, i) if self.vector else _single(self.make_env)
        return world[i]

    def _spaces(self, n: int) -> tuple[spaces.Space, spaces.Space]:
        """Of one world's observations and actions; n is how many a vector form has."""
        if self.vector:
            return self._world(n).single_observation_space, self._world(n).single_action_space
        return self._world(0).observation_space, self._world(0).action_space

    def _box(self, observed: spaces.Space, acted: spaces.Space) -> Box:
        """Where behaviors lie, if `describe` knows it."""
        describe: Any = self.describe
        if self.watch is None and hasattr(describe, "bounds"):
            bounds = describe.bounds(_limits(observed), _limits(acted))
            if np.isfinite(bounds).all():
                return Box(*bounds)
        raise ValueError(
            "give behavior_space, where behaviors lie: it is known only where describe is a "
            "ready one, of observations or actions with finite bounds, without watch; got "
            f"describe={short_repr(self.describe)}, observations {observed} and actions {acted}"
        )


@dataclasses.dataclass
class Diary:
    """What is written down of an episode."""

    observations: list[np.ndarray] = dataclasses.field(default_factory=list)
    rewards: list[float] = dataclasses.field(default_factory=list)
    actions: list[Any] = dataclasses.field(default_factory=list)
    infos: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    terminated: bool = False

    def note(self, seen: np.ndarray, info: dict[str, Any]) -> None:
        """Write down what is seen now, and a copy of the infos,
        with which an environment may go on.
        """
        self.observations.append(seen)
        self.infos.append(_copied(info) if info else {})

    def episode(self, acted: spaces.Space) -> Episode:
        if len({seen.size for seen in self.observations}) > 1:
            sizes = [seen.size for seen in self.observations[:5]]
            raise ValueError(f"watch must give as many numbers after each step; got {sizes}")
        return Episode(
            np.concatenate(self.observations).reshape(len(self.observations), -1),
            np.array(self.rewards, float),
            _flat_actions(acted, self.actions),
            self.infos,
            self.terminated,
        )


@contextlib.contextmanager
def _silent() -> Generator[None, None, None]:
    """What a simulator prints when it is made is read once, of C code too;
    errors are raised as ever.
    """
    with (
        MAKING,
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        saved = os.dup(1), os.dup(2)
        try:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            for number, descriptor in enumerate(saved, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _close(worlds: dict[int, Any]) -> None:
    for env in worlds.values():
        with contextlib.suppress(Exception):  # closed by its user, or by its library at the exit
            env.close()


def _single(make_env: Any) -> gymnasium.Env:
    if not isinstance(make_env, str):
        env = make_env()
        if isinstance(env, VectorEnv):
            raise ValueError(
                "make_env made a vector environment: give a function of n, and vector=True"
            )
        return env
    try:
        return gymnasium.make(make_env)
    except (gymnasium.error.UnregisteredEnv, ModuleNotFoundError) as error:
        raise ValueError(
            f"Gymnasium knows no environment {make_env!r} here ({error}). Where a package "
            f"registers it, name the package too: 'package:{make_env.rpartition(':')[2]}'. Where "
            "your program does, give a function that makes it"
        ) from error


def _vector(make_env: Any, n: int) -> VectorEnv:
    worlds = make_env(n)
    if worlds.num_envs != n:
        raise ValueError(
            f"make_env made {worlds.num_envs} worlds for {n} individuals; use brns.Chunked"
        )
    if worlds.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP) != AutoresetMode.NEXT_STEP:
        raise ValueError(
            f"a vector environment must have AutoresetMode.NEXT_STEP; got {worlds.metadata}"
        )
    return worlds


def _checked(values: Any, names: tuple[str, ...]) -> Any:
    """What `reset` or `step` gave, if it has the form of Gymnasium's API."""
    if type(values) is tuple and len(values) == len(names) and isinstance(values[-1], dict):
        return values
    got = f"{len(values)} values" if isinstance(values, tuple) else type(values).__name__
    raise ValueError(
        f"{'reset' if names is RESET else 'step'} must give ({', '.join(names)}), the last of "
        f"them a dict, as Gymnasium's environments do; got {got}. An environment of the old Gym "
        "API needs a wrapper, such as shimmy's"
    )


def _watched(watch: Callable[[Any], Any], env: Any) -> np.ndarray:
    """A copy of what `watch` sees of an environment."""
    return np.array(watch(env.unwrapped), float).ravel()


def _numbers(rewards: Any, n: int) -> Float[np.ndarray, " n"]:
    """The rewards of n worlds, which may be arrays of one number."""
    try:
        numbers = np.array(rewards, float).reshape(n)
    except (TypeError, ValueError):
        numbers = None
    if rewards is None or numbers is None:
        raise ValueError(f"a reward must be one number for each world; got {rewards!r:.80}")
    return numbers


def _width(space: spaces.Space) -> int:
    """How many numbers a flattened observation has."""
    with contextlib.suppress(NotImplementedError, ValueError):
        return spaces.flatdim(space)
    parts = dict(space.items()) if isinstance(space, spaces.Dict) else {}
    numeric = [name for name, part in parts.items() if _is_flat(part)]
    wrapper = (
        f"FilterObservation(env, {numeric})"
        if numeric
        else "TransformObservation(env, function, box)"
    )
    raise ValueError(
        f"observations must be a fixed number of numbers; got {space}. Give make_env a function "
        "that makes the environment with a wrapper that leaves the others out, such as "
        f"gymnasium.wrappers.{wrapper}"
    )


def _is_flat(space: spaces.Space) -> bool:
    try:
        return spaces.flatdim(space) > 0
    except (NotImplementedError, ValueError):
        return False


def _flattener(space: spaces.Space, n: int = 1) -> Callable[[Any], Float[np.ndarray, " o"]]:
    """To a copy, of a Box also of n observations at once. Small integers are floats too,
    so that a difference cannot be below zero and wrap.
    """
    plain, size = isinstance(space, spaces.Box), n * _width(space)
    dtype = np.result_type(space.dtype, np.float32) if plain else float

    def flat(observation: Any) -> Float[np.ndarray, " o"]:
        try:
            values = observation if plain else spaces.flatten(space, observation)
            numbers = np.array(values, dtype).reshape(-1)
        except (TypeError, ValueError, LookupError):
            numbers = None
        if numbers is None or numbers.size != size:
            raise ValueError(
                f"an observation must be one of observation_space, {space}; got {observation!r:.80}"
            )
        return numbers

    return flat


def _flat_actions(space: spaces.Space, actions: list[Any]) -> Float[np.ndarray, "t a"]:
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n))[np.asarray(actions, int).ravel() - int(space.start)]
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return np.array(actions, float).reshape(len(actions), -1)
    return np.array([spaces.flatten(space, action) for action in actions], float)


def _copied(info: Any) -> Any:
    """A copy of arrays, dicts and lists, which an environment may go on with."""
    if isinstance(info, np.ndarray):
        return info.copy()
    if isinstance(info, dict):
        return {key: _copied(value) for key, value in info.items()}
    return [_copied(value) for value in info] if isinstance(info, list) else info


def _info_of(i: int, n: int, infos: dict[Any, Any]) -> dict[Any, Any]:
    """World i's part of a vector environment's infos.

    `_key` says who has `key`. What is not one value for each of the n worlds,
    such as frames a second, is everyone's.
    """
    base = {}
    for key, value in infos.items():
        has: Any = infos.get(f"_{key}")
        if str(key).startswith("_") or (_is_by_world(has, n) and not has[i]):
            continue
        if isinstance(value, dict):
            base[key] = _info_of(i, n, value)
        else:
            base[key] = value[i] if _is_by_world(value, n) else value
    return base


def _is_by_world(value: Any, n: int) -> bool:
    return (isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0) and len(value) == n


def _limits(space: spaces.Space) -> Bounds:
    """The bounds of the flattened values;
    infinite where a number so large is given that there is none.
    """
    _width(space)
    flat: Any = spaces.flatten_space(space)
    low, high = flat.low.astype(float).ravel(), flat.high.astype(float).ravel()
    return Bounds(
        np.where(low > -UNBOUNDED, low, -np.inf), np.where(high < UNBOUNDED, high, np.inf)
    )


def _outputs(space: spaces.Space) -> int:
    """How many outputs a network needs."""
    sizes = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)
    if not isinstance(space, sizes):
        raise ValueError(
            "a FeedForward takes Discrete, MultiDiscrete, MultiBinary or Box actions, not "
            f"{space}: give a policy of your own"
        )
    return spaces.flatdim(space)


def _default_policy(observed: spaces.Space, acted: spaces.Space) -> FeedForward:
    policy = fit_policy(None, _width(observed), _outputs(acted))
    if policy.genotype_length > GENES:
        warnings.warn(
            f"observations of {_width(observed):,} numbers make a policy of "
            f"{policy.genotype_length:,} genes. Let make_env shrink images (gymnasium.wrappers: "
            "ResizeObservation, GrayscaleObservation), or give a policy of your own",
            stacklevel=4,
        )
    return policy


def _actor(
    space: spaces.Space, policy: FeedForward | Policy, inputs: int, genotypes: np.ndarray
) -> Callable[[np.ndarray], Any]:
    """From rows of observations to actions."""
    if not isinstance(policy, FeedForward):
        return policy.actor(genotypes)
    fit_policy(policy, inputs, _outputs(space))
    layers, choose = policy.layers(genotypes), _chooser(space, policy.squash_output)
    act = policy.act  # once: a module makes it anew each time that it is asked
    return lambda rows: choose(act(layers, rows.T).T)


def _chooser(space: Any, squashed: bool) -> Callable[[Float[np.ndarray, "n a"]], np.ndarray]:
    """From a network's outputs to actions."""
    if isinstance(space, spaces.Discrete):
        return lambda outputs: space.start + outputs.argmax(axis=1)
    if isinstance(space, spaces.MultiBinary):
        return lambda outputs: (outputs > 0).astype(space.dtype).reshape(-1, *space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        ends = np.cumsum(space.nvec.ravel())[:-1]

        def largest(outputs: Float[np.ndarray, "n a"]) -> np.ndarray:
            indices = [group.argmax(axis=1) for group in np.split(outputs, ends, axis=1)]
            rows = np.stack(indices, axis=1).reshape(-1, *space.shape) + space.start
            return rows.astype(space.dtype)

        return largest
    low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
    discrete = np.issubdtype(space.dtype, np.integer)
    bounded = (low > -UNBOUNDED) & (high < UNBOUNDED)
    least = (
        np.where(bounded, low, -1.0) - discrete / 2
    )  # half a step more: each integer has an equal share
    half = (np.where(bounded, high, 1.0) + discrete / 2 - least) / 2
    middle = least + half

    def scaled(outputs: Float[np.ndarray, "n a"]) -> np.ndarray:
        actions = middle + half * outputs if squashed else outputs
        actions = np.rint(actions) if discrete else actions
        return np.clip(actions, low, high).astype(space.dtype).reshape(-1, *space.shape)

    return scaled
