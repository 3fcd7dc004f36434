"""Policies in a batch of environments; a function of yours says what a behavior was."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import batch_space, iterate
from jaxtyping import Array, Float, Key
from pydantic import NonNegativeInt, PositiveInt

from brns.checks.parts import check_part, check_setting_types
from brns.core import Box, Evaluation
from brns.core.evaluation import as_evaluation
from brns.settings.differences import short_repr
from brns.tasks.behaviors import Waypoints
from brns.tasks.gymnasium.actions import Policy, default_policy, make_actor
from brns.tasks.gymnasium.environments import (
    EnvironmentPool,
    call_observer,
    find_spec,
    get_spaces,
    make_single_environment,
    reset_environment,
    step_environment,
)
from brns.tasks.gymnasium.episode import Diary, Episode, select_info
from brns.tasks.gymnasium.numbers import (
    as_numbers_of_environments,
    as_real_numbers,
    count_observation_numbers,
    get_flat_bounds,
    make_flattener,
)
from brns.tasks.policy import FeedForward, Genotypes
from brns.tasks.scene import Film

TOGETHER = 16
"""environments that take their steps in turn; 32 are 12 % slower in Ant-v5, whose states leave the
cache, and 8 in FlappyBird-v0, where the product of the policies costs more than it saves"""
NUMBERS = 200_000
"""in the observations of those together: of large images there are fewer"""


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment as a task; each policy is evaluated in one episode:
    `GymnasiumTask("Pendulum-v1")`.

    Observations are flattened. With a `FeedForward`, a discrete action is the index of the largest
    output, one of each group for MultiDiscrete; a binary one is whether an output is positive. A
    continuous action is the output clipped to the bounds; a squashed output is first scaled from
    [-1, 1] to them. Whole numbers are rounded: scaled so that each has an equal share of [-1, 1].
    Fitness is the sum of the rewards.

    Sixteen individuals live side by side, each in an environment that this task made once and
    resets for each episode. Where `reset(seed=...)` does not forget the episode before, as in
    BipedalWalker-v3, give `remake=True`.
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
    steps: PositiveInt = 1000
    """most steps of an episode; an environment may have a limit of its own"""
    success: Callable[[Episode], bool] | None = None
    """whether an episode solves the task; by default none does"""
    watch: Callable[[Any], Any] | None = None
    """what `describe` sees of the unwrapped environment after each step, such as `lambda env:
    env.agent_pos`; by default the observation. If `vector`, a row for each environment"""
    seed: NonNegativeInt | None = 0
    """every episode resets with this seed; None draws one for each generation"""
    vector: bool = False
    """whether to use the environment's own vector form; it must begin every environment alike"""
    remake: bool = False
    """whether to make an environment anew for each episode, which costs the time of making it"""
    _environments: EnvironmentPool = eqx.field(init=False, static=True, repr=False)

    traceable = False

    def __post_init__(self):
        self._environments = EnvironmentPool()
        check_setting_types(self)
        if self.vector and isinstance(self.make_env, str):
            raise ValueError(f"vector=True needs a function of n as make_env; got {self.make_env}")
        if self.policy is None:
            self.policy = default_policy(*self._get_single_spaces(1))
        if not isinstance(self.policy, FeedForward):
            check_part("policy", self.policy, Policy, compiled=False)
        if self.behavior_space is None:
            self.behavior_space = self._infer_behavior_space(*self._get_single_spaces(1))

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    @property
    def spec(self) -> Any:
        """What is registered under the environment's id; None of a function that makes one."""
        return find_spec(self.make_env) if isinstance(self.make_env, str) else None

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        """An episode of each policy; see `Task.evaluate`."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        success = self.success or (lambda episode: False)
        descriptors, fitness, solved = [], [], []
        for episode in self._iterate_episodes(np.asarray(genotypes), seed):
            descriptors.append(as_real_numbers("describe", self.describe(episode)))
            fitness.append(episode.rewards.sum())
            solved.append(as_numbers_of_environments("success", success(episode), 1)[0])
        columns: Any = descriptors, np.array(fitness), np.array(solved, bool)
        return as_evaluation(Evaluation(*columns), len(genotypes), self)

    def episodes(self, genotypes: Genotypes, seed: int | None = None) -> list[Episode]:
        """An episode of each genotype.

        Args:
            genotypes: `(n, p)`.
            seed: of every reset; by default the task's, or 0 where the task has none.

        Returns:
            What `describe` is given.
        """
        seed = (self.seed or 0) if seed is None else seed
        return [*self._iterate_episodes(np.asarray(genotypes), seed)]

    def _iterate_episodes(self, genotypes: np.ndarray, seed: int) -> Iterator[Episode]:
        """An episode of each genotype; of single environments 16 at a time are in memory."""
        observed, acted = self._get_single_spaces(len(genotypes))
        act = partial(make_actor, acted, self.policy, count_observation_numbers(observed))
        if self.vector:
            yield from self._run_vector_environment(act(genotypes), len(genotypes), seed)
            return
        together = max(1, min(TOGETHER, NUMBERS // count_observation_numbers(observed)))
        for group in np.split(genotypes, range(together, len(genotypes), together)):
            yield from self._run_environments_in_lockstep(act(group), len(group), seed)

    def film(self, genotype: Float[np.ndarray, " p"]) -> Film:
        """One episode, drawn by the environment.

        It begins with the task's seed; of a task without one with 0, and is then not the episode
        that was evaluated.

        Args:
            genotype: `(p,)`.

        Returns:
            A picture of each step, made as it is asked for.

        Raises:
            ValueError: where the environment draws no pictures, or is a vector form.
        """
        env = (
            None if self.vector else make_single_environment(self.make_env, render_mode="rgb_array")
        )
        if env is None or env.render_mode != "rgb_array":
            raise ValueError(
                'a film needs single environments whose render_mode is "rgb_array": let make_env '
                "make them so, which draws nothing before a film is asked for"
            )
        per_second = float(env.metadata.get("render_fps", 30))
        return Film(self._iterate_pictures_of_episode(env, genotype), self.steps + 1, per_second)

    def _iterate_pictures_of_episode(
        self, env: gymnasium.Env, genotype: np.ndarray
    ) -> Iterator[np.ndarray]:
        """What an environment draws at the start and after each step of one episode."""
        genotypes = np.asarray(genotype)[None]
        inputs = count_observation_numbers(env.observation_space)
        act = make_actor(env.action_space, self.policy, inputs, genotypes)
        for _ in self._iterate_steps_of_episodes(act, [env], [Diary()], self.seed or 0):
            yield np.asarray(env.render())
        env.close()

    def _run_environments_in_lockstep(
        self, act: Callable[[np.ndarray, Any], Any], n: int, seed: int
    ) -> list[Episode]:
        """Episodes side by side, each in an environment of its own."""
        if self.remake:
            self._environments.close()
        get = self._environments.get_or_make  # once: a module is slow to give it
        envs = [get(i) for i in range(n)]
        diaries = [Diary() for _ in range(n)]
        for _ in self._iterate_steps_of_episodes(act, envs, diaries, seed):
            pass
        return [diary.make_episode(envs[0].action_space) for diary in diaries]

    def _iterate_steps_of_episodes(
        self,
        act: Callable[[np.ndarray, Any], Any],
        envs: list[Any],
        diaries: list[Diary],
        seed: int,
    ) -> Iterator[None]:
        """Write an episode in each diary; stops at the start and after each step."""
        observed, acted, n = envs[0].observation_space, envs[0].action_space, len(envs)
        watch = self.watch  # once: a module makes a function anew at each look
        flat = make_flattener(observed)
        discrete = isinstance(acted, spaces.Discrete)
        rows = np.empty((n, count_observation_numbers(observed)))
        batch = None if discrete else batch_space(acted, n)
        for i, env in enumerate(envs):
            observation, info = reset_environment(env, seed)
            rows[i] = seen = flat(observation)
            diaries[i].add_step(seen if watch is None else call_observer(watch, env), info)
        living = list(range(n))
        yield
        for _ in range(self.steps):
            actions = act(rows, living)
            # Python's integers: comparing NumPy's takes longer than many a step.
            actions = np.asarray(actions).tolist() if discrete else [*iterate(batch, actions)]
            rows = rows.copy()  # a policy may remember those before
            for i in tuple(living):
                env, diary, action = envs[i], diaries[i], actions[i]
                diary.actions.append(deepcopy(action))  # policy and environment may change it
                observation, reward, terminated, truncated, info = step_environment(env, action)
                if type(reward) is not float:
                    reward = as_numbers_of_environments("reward", reward, 1)[0]
                diary.rewards.append(reward)
                rows[i] = seen = flat(observation)
                diary.add_step(seen if watch is None else call_observer(watch, env), info)
                if type(terminated) is not bool:  # NumPy's takes longer
                    terminated = bool(as_numbers_of_environments("terminated", terminated, 1)[0])
                if type(truncated) is not bool:
                    truncated = bool(as_numbers_of_environments("truncated", truncated, 1)[0])
                if terminated or truncated:
                    diary.terminated = terminated
                    living.remove(i)
            yield
            if not living:
                break

    def _run_vector_environment(
        self, act: Callable[[np.ndarray, Any], Any], n: int, seed: int
    ) -> list[Episode]:
        """Episodes in the environment's vector form; what follows an episode's end is cut off."""
        if self.remake:
            self._environments.close()
        env = self._environments.get_or_make(n, vector=True)
        plain = isinstance(env.single_observation_space, spaces.Box)
        flat = make_flattener(env.single_observation_space, n if plain else 1)

        diaries, living = [Diary() for _ in range(n)], np.ones(n, bool)

        def record_and_flatten_observation(observation: Any, info: Any) -> np.ndarray:
            if plain:
                rows = flat(observation).reshape(n, -1)
            else:
                rows = np.stack([*map(flat, iterate(env.observation_space, observation))])
            watch = self.watch
            seen = rows if watch is None else call_observer(watch, env, n)
            for i in np.flatnonzero(living).tolist():
                diaries[i].add_step(seen[i], select_info(i, n, info))
            return rows

        gymnasiums = isinstance(env.unwrapped, AsyncVectorEnv | SyncVectorEnv)
        seeds = [seed] * n if gymnasiums else seed  # of one number they would make n seeds
        rows = record_and_flatten_observation(*reset_environment(env, seeds))
        if not np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape), equal_nan=True):
            raise ValueError(
                f"reset(seed={seed}) of the vector form must begin all environments alike, since a "
                "behavior must not depend on its row; got different observations. Begin them alike "
                "in a wrapper, or give a make_env that makes a single environment"
            )
        for _ in range(self.steps):
            action = act(rows.copy(), living)
            actions = list(iterate(env.action_space, deepcopy(action)))
            observation, reward, terminated, truncated, info = step_environment(env, action)
            rows = record_and_flatten_observation(observation, info)
            rewards = as_numbers_of_environments("reward", reward, n)
            terminated = as_numbers_of_environments("terminated", terminated, n).astype(bool)
            truncated = as_numbers_of_environments("truncated", truncated, n).astype(bool)
            for i in np.flatnonzero(living).tolist():
                diaries[i].actions.append(actions[i])
                diaries[i].rewards.append(rewards[i])
                diaries[i].terminated = bool(terminated[i])
            living &= ~(terminated | truncated)
            if not living.any():
                break
        return [diary.make_episode(env.single_action_space) for diary in diaries]

    def _get_single_spaces(self, n: int) -> tuple[spaces.Space, spaces.Space]:
        """Of one environment's observations and actions; n is how many a vector form has."""
        self._environments.close_if_outdated(self.make_env)
        env = self._environments.get_or_make(n if self.vector else 0, self.vector)
        return get_spaces(env, self.vector)

    def _infer_behavior_space(self, observed: spaces.Space, acted: spaces.Space) -> Box:
        """Where behaviors lie, if `describe` knows it."""
        describe: Any = self.describe
        if self.watch is None and hasattr(describe, "bounds"):
            bounds = describe.bounds(get_flat_bounds(observed), get_flat_bounds(acted))
            if np.isfinite(bounds).all() and np.less(*bounds).all():
                return Box(*bounds)
        raise ValueError(
            "give behavior_space, where behaviors lie: it is known only of a ready describe, of "
            "observations or actions with finite bounds, low below high, without watch; got "
            f"describe={short_repr(self.describe)}, observations {observed} and actions {acted}"
        )
