"""Gymnasium's environments as tasks."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import cloudpickle
import equinox as eqx
import jax
import numpy as np
import pytest
from files import same
from numpy.testing import assert_allclose, assert_array_equal

from brns import Box, FeedForward, GymnasiumTask, check_task
from brns.tasks.behaviors import Statistic
from brns.tasks.chunked import Chunked

gymnasium = pytest.importorskip("gymnasium")
from gymnasium import spaces  # noqa: E402

KEY = jax.random.key(0)
PLACE = np.zeros(1)


class Corridor(gymnasium.Env):
    """x moves by the action; the reward is the new x; the end is at 3.
    The reset draws the start from [0, 1)."""

    observation_space = spaces.Box(-10.0, 10.0, (1,), np.float64)
    action_space = spaces.Box(0.0, 4.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.random() if seed else 0.0
        return np.array([self.x]), {"step": 0}

    def step(self, action):
        self.x += float(action[0])
        return np.array([self.x]), self.x, self.x >= 3, False, {"step": 1}


def last_place(episode):
    return episode.observations[-1, [0, 2]]


def corridor(**changes):
    settings: dict[str, Any] = {
        "policy": FeedForward((1, 1), squash_output=True),
        "describe": lambda episode: episode.observations[-1],
        "behavior_space": Box([0.0], [10.0]),
        "steps": 5,
        "success": lambda episode: episode.terminated,
    }
    return GymnasiumTask(**{"make_env": Corridor, **settings, **changes})


def test_episodes_by_hand():
    # tanh(0 x + 0) = 0 is the middle of the bounds, 2: x = 0, 2, 4, where the corridor ends.
    # tanh(0 x - 9) is -1, nearly, the lower bound: x stays at 0 until the steps end.
    rows = np.array([[0, 0], [0, -9]], np.float32)
    episode, other = corridor().episodes(rows)
    assert episode.observations.ravel().tolist() == [0, 2, 4]
    assert episode.rewards.tolist() == [2, 4]
    assert episode.actions.ravel().tolist() == [2, 2]
    assert [info["step"] for info in episode.infos] == [0, 1, 1]
    assert (episode.terminated, other.terminated, len(other.infos)) == (True, False, 6)
    descriptor, fitness, solved, _ = corridor().evaluate(rows, KEY)
    assert_allclose(descriptor[:, 0], [4, 0], atol=1e-5)
    assert_allclose(fitness, [6, 0], atol=1e-5)
    assert solved.tolist() == [True, False]
    task = corridor(policy=FeedForward((1, 1)))
    episodes = task.episodes(np.array([[0, 1.5], [0, 99]], np.float32))
    assert [episode.observations.ravel().tolist() for episode in episodes] == [[0, 1.5, 3], [0, 4]]


def test_an_episode_is_that_of_the_seed_or_of_the_generation():
    rows = np.zeros((2, 2), np.float32)
    task = corridor(seed=7)
    descriptor = task.evaluate(rows, KEY).descriptor
    assert task.episodes(rows)[0].observations[-1] == pytest.approx(descriptor[0])
    assert task.episodes(rows, 8)[0].observations[0] != task.episodes(rows)[0].observations[0]
    keys, drawn = (jax.random.key(0), jax.random.key(1)), corridor(seed=None, steps=1)
    one, other = (drawn.evaluate(rows, key).descriptor for key in keys)
    assert one[0] == one[1]
    assert one[0] != other[0]


class Living(Corridor):
    """The corridor that goes on with what it gave and got: its place, a list and the action."""

    def reset(self, *, seed=None, options=None):
        self.place, self.taken = super().reset(seed=seed)[0], []
        return self.place, {"taken": self.taken}

    def step(self, action):
        self.place += action
        self.taken.append(action.copy())
        action *= 0.5
        infos = {"taken": self.taken, "so far": (action, {})}
        return self.place, 1.0, self.place[0] >= 3, False, infos


class Erasing:
    """A policy that gives the action 1 and erases what it saw."""

    genotype_space = Box([-1.0], [1.0])

    def actor(self, genotypes):
        def act(observations):
            actions = np.ones((len(observations), 1))
            observations[:] = 0
            return actions

        return act


@pytest.mark.parametrize("vector", [False, True])
def test_what_is_written_down_is_not_changed_later(vector):
    make_env = lambda n: gymnasium.vector.SyncVectorEnv([Living] * n)  # noqa: E731
    task = corridor(make_env=make_env if vector else Living, vector=vector, policy=Erasing())
    (episode,) = task.episodes(np.zeros((1, 1), np.float32))
    assert episode.actions.ravel().tolist() == [1, 1, 1]
    assert episode.observations.ravel().tolist() == [0, 1, 2, 3]
    assert [len(info["taken"]) for info in episode.infos] == [0, 1, 2, 3]


class Threaded(Corridor):
    """The corridor that notes which thread made it."""

    made: ClassVar[list[int]] = []

    def __init__(self):
        self.made.append(threading.get_ident())


def test_environments_are_made_once_for_a_batch_in_each_thread():
    task, made = corridor(make_env=Threaded), Threaded.made
    rows = task.genotype_space.uniform(KEY, 20)
    alone = [task.evaluate(rows, KEY) for _ in range(2)]
    assert made == 16 * [threading.get_ident()]
    with ThreadPoolExecutor(2) as pool:
        spread = [Chunked(task, executor=pool, chunk=2).evaluate(rows, KEY) for _ in range(2)]
    assert all(same(one[:3], alone[0][:3]) for one in (*alone, *spread))  # nobody failed
    assert len(made) <= 16 + 2 * (2 + 2)  # both threads may unpickle the task


class Worn(Corridor):
    """The corridor whose reset begins where the episode before ended."""

    x = 0.0

    def reset(self, *, seed=None, options=None):
        return np.array([self.x]), {"step": 0}


def test_an_environment_whose_reset_forgets_nothing_is_made_anew():
    with pytest.raises(ValueError, match=r"same result .*remake=True"):
        check_task(corridor(make_env=Worn))
    rows = corridor().genotype_space.uniform(KEY, 20)
    for make, vector in (
        (Worn, False),
        (lambda n: gymnasium.vector.SyncVectorEnv([Worn] * n), True),
    ):
        task = corridor(make_env=make, vector=vector, remake=True)
        for _ in range(2):
            assert same(task.evaluate(rows, KEY), corridor().evaluate(rows, KEY))


class Unlike(gymnasium.vector.SyncVectorEnv):
    """Whose environments begin each with a seed of its own."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=range(self.num_envs), options=options)


class Unshared(gymnasium.vector.SyncVectorEnv):
    """As `AsyncVectorEnv` is where its environments share no memory."""

    shared_memory = False


def test_a_vector_form_of_its_own_gives_the_same():
    rows = corridor().genotype_space.uniform(KEY, 9)
    task = corridor(make_env=lambda n: gymnasium.vector.SyncVectorEnv([Corridor] * n), vector=True)
    for own, other in zip(task.episodes(rows), corridor().episodes(rows), strict=True):
        assert same(own, other)
    for shape in ((), (2,), (1, 9)):  # of one environment, or of all in columns
        task = eqx.tree_at(lambda task: task.watch, task, lambda _, shape=shape: np.zeros(shape))
        with pytest.raises(ValueError, match=r"a row for each of 9 environments, .*shape \("):
            task.episodes(rows)
    fixed = corridor(make_env=lambda n: gymnasium.vector.SyncVectorEnv([Corridor] * 4), vector=True)
    with pytest.raises(ValueError, match="4 environments for 9 individuals"):
        fixed.evaluate(rows, KEY)
    with pytest.raises(ValueError, match="must begin all environments alike"):
        corridor(make_env=lambda n: Unlike([Corridor] * n), vector=True).evaluate(rows, KEY)
    instant = partial(gymnasium.vector.SyncVectorEnv, autoreset_mode="SameStep")
    with pytest.raises(ValueError, match="NEXT_STEP"):
        corridor(make_env=lambda n: instant([Corridor] * n), vector=True).evaluate(rows, KEY)
    with pytest.raises(ValueError, match="shared_memory=True"):
        corridor(make_env=lambda n: Unshared([Corridor] * n), vector=True).evaluate(rows, KEY)


def test_a_batch_is_a_plain_loop_of_single_environments():
    """To the bit; of these poles some fall much earlier than others."""
    policy = FeedForward((4, 4, 2))
    task = GymnasiumTask("CartPole-v1", policy, behavior_space=Box([-5.0] * 4, [5.0] * 4), steps=60)
    check_task(task, n=4)
    rows, env = np.asarray(task.genotype_space.uniform(KEY, 20)), gymnasium.make("CartPole-v1")
    lengths = []
    for row, episode in zip(rows, task.episodes(rows, 3), strict=True):
        layers, observations = policy.layers(row[None].astype(float)), [env.reset(seed=3)[0]]
        ended = False
        while not ended and len(observations) <= 60:
            action = int(np.argmax(policy.act(layers, observations[-1][:, None].astype(float))))
            observation, _, ended, _, _ = env.step(action)
            observations.append(observation)
        assert np.array_equal(episode.observations, observations)
        assert (episode.rewards.sum(), episode.terminated) == (len(observations) - 1, ended)
        lengths.append(len(observations))
    assert min(lengths) < 20 < max(lengths)


def test_an_id_is_enough_where_observations_are_bounded():
    task = GymnasiumTask("Pendulum-v1", steps=5)
    assert task.policy == FeedForward((3, 10, 10, 1), squash_output=True)
    assert task.behavior_space.low.tolist() == [-1, -1, -8]
    assert task.behavior_space.high.tolist() == [1, 1, 8]
    with pytest.raises(ValueError, match=r"give behavior_space, .*describe=Waypoints\(\)"):
        GymnasiumTask("CartPole-v1")
    with pytest.raises(ValueError, match=r"describe=last_place"):
        GymnasiumTask("Pendulum-v1", describe=last_place)
    with pytest.raises(ValueError, match="from 1 observations to 1 actions"):
        check_task(corridor(policy=FeedForward((2, 1))))


class Counting:
    """Its action is gain times the number of observations seen in its episode."""

    genotype_space = Box([0.0], [4.0])

    def actor(self, genotypes):
        seen = []

        def act(observations):
            seen.append(observations)
            return genotypes * len(seen)

        return act


def test_a_policy_of_ones_own_may_remember_within_an_episode():
    """Gain 0.5: x = 0, then + 0.5, + 1, + 1.5, which is 3 and the end; then all begins anew."""
    task = corridor(policy=Counting())
    assert task.genotype_space.high.tolist() == [4]
    for _ in range(2):
        episode, still = task.episodes(np.array([[0.5], [0.0]]))
        assert episode.observations.ravel().tolist() == [0, 0.5, 1.5, 3]
        assert not still.observations.any()


class Noting(Corridor):
    """The corridor with other actions, which it notes in its infos."""

    def __init__(self, action_space):
        self.action_space = action_space

    def step(self, action):
        assert self.action_space.contains(action)
        return PLACE, np.array([1.0]), False, False, {"taken": np.array(action)}


def taken(space, outputs, squashed=True):
    """The actions of policies with these outputs, whatever they see."""
    task = corridor(
        make_env=partial(Noting, space),
        policy=FeedForward((1, outputs.shape[1]), squash_output=squashed),
        steps=1,
    )
    biases = np.arctanh(outputs * (1 - 1e-9)) if squashed else outputs
    rows = np.concatenate([np.zeros_like(outputs), biases], axis=1)
    return np.array([episode.infos[1]["taken"] for episode in task.episodes(rows)])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 2), (-3, 3), (250, 255)])
def test_every_whole_number_of_a_box_has_an_equal_share_of_the_outputs(low, high):
    """Beginning with the lowest output and ending with the highest, 60 outputs for each."""
    n = high - low + 1
    outputs = np.linspace(-1, 1, 60 * n + 1)[:-1, None] + 1 / (60 * n)
    actions = taken(spaces.Box(low, high, (1,), np.int64), outputs).ravel()
    assert actions.tolist() == np.repeat(np.arange(low, high + 1), 60).tolist()
    rounded = taken(spaces.Box(low, high, (1,), np.int64), low + np.array([[0.6], [-9]]), False)
    assert rounded.ravel().tolist() == [low + 1, low]


def test_wide_and_open_boxes_of_actions():
    half = taken(spaces.Box(0, 4 * 10**9, (1,), np.int64), np.array([[0.0]]))
    assert half == 2 * 10**9
    endless = spaces.Box(-(2**31), 2**31 - 1, (1,), np.int32)
    assert taken(endless, np.array([[-0.9], [0.9]])).ravel().tolist() == [-1, 1]
    positive = taken(spaces.Box(0, np.inf, (1,)), np.array([[-0.5], [0.5]]))
    assert positive.ravel().tolist() == pytest.approx([0.5, 1.5])


def test_several_discrete_and_binary_actions():
    outputs = np.array([[0.1, 0.2, 0.3, -0.2, -0.1], [0.3, 0.2, 0.1, -0.1, -0.2]])
    several = spaces.MultiDiscrete([3, 2], start=[5, 0])
    assert taken(several, outputs).tolist() == [[7, 1], [5, 0]]
    small = spaces.MultiDiscrete([3, 2], dtype=np.int32)
    assert small.contains(taken(small, outputs)[0])
    assert taken(spaces.MultiBinary(5), outputs).tolist() == [[1, 1, 1, 0, 0]] * 2
    assert taken(spaces.Box(0, 1, (5,), bool), outputs).tolist() == [[1, 1, 1, 0, 0]] * 2
    assert taken(spaces.Discrete(5, start=2), outputs).tolist() == [4, 2]
    task = corridor(make_env=partial(Noting, several), policy=FeedForward((1, 5)))
    (episode,) = task.episodes(np.concatenate([np.zeros(5), outputs[0]])[None])
    assert Statistic(of="actions")(episode).tolist() == [0, 0, 1, 0, 1]
    assert episode.rewards.tolist() == [1] * 5
    with pytest.raises(ValueError, match="a policy of your own"):
        taken(spaces.Text(3), outputs)


class Drawn(Corridor):
    render_mode = "rgb_array"

    def render(self):
        return np.full((2, 2, 3), 10 * self.x, np.uint8)


def test_an_environment_that_draws_films_the_episode_of_an_individual():
    """Its first and every later picture is of what was observed then."""
    genotype = np.array([0.3, 0.1])
    film = corridor(make_env=Drawn).film(genotype)
    (episode,) = corridor().episodes(genotype[None])
    drawn = [picture[0, 0, 0] for picture in film.pictures]
    assert drawn == (10 * episode.observations[:, 0]).astype(int).tolist()
    assert len(drawn) <= film.most
    with pytest.raises(ValueError, match='render_mode is "rgb_array"'):
        corridor().film(genotype)


class Offset(Corridor):
    """The corridor that begins where the class said when it was made."""

    start = 0.0
    closed: ClassVar[list[float]] = []

    def __init__(self):
        self.begin = Offset.start

    def reset(self, *, seed=None, options=None):
        self.x = self.begin
        return np.array([self.x]), {}

    def close(self):
        self.closed.append(self.begin)


def test_a_task_has_environments_of_its_own_and_closes_them(monkeypatch):
    rows, starts = np.zeros((2, 2), np.float32), []
    for start in (1.0, 2.0):
        monkeypatch.setattr(Offset, "start", start)
        if "Again-v0" in gymnasium.registry:
            del gymnasium.registry["Again-v0"]
        gymnasium.register("Again-v0", partial(Offset))
        for make in (Offset, "Again-v0"):
            task = corridor(make_env=make, steps=1)
            elsewhere = cloudpickle.loads(cloudpickle.dumps(task))
            starts += [each.episodes(rows)[0].observations[0, 0] for each in (task, elsewhere)]
    assert starts == [1.0] * 4 + [2.0] * 4
    Offset.closed.clear()
    del task  # what was unpickled stays with Equinox until the end of the process
    gc.collect()
    assert Offset.closed == [2.0] * 2


BIG = np.finfo(np.float32).max


class Odd(Corridor):
    """The corridor with this observation space, and what else is odd about it."""

    def __init__(self, space, observation=None, step=None):
        self.observation_space, self.odd, self.changed = space, observation, step

    def reset(self, *, seed=None):
        observation, info = super().reset()
        return observation if self.odd is None else self.odd, info

    def step(self, action):
        values = super().step(action)
        values = values if self.odd is None else (self.odd, *values[1:])
        return values if self.changed is None else self.changed(values)


LINE = Corridor.observation_space
OLD = type("MultiBinary", (), {"__module__": "gym.spaces", "__repr__": lambda s: "MultiBinary(3)"})
SAYING = spaces.Dict({"p": LINE, "say": spaces.Sequence(LINE)})
MADE, LENGTHS = Corridor(), iter((1, 2))
OWN = type("Mission", (spaces.Space,), {"sample": lambda space, *_: "go"})


@pytest.mark.parametrize(
    ("space", "observation", "step", "message"),
    [
        (SAYING, {"p": PLACE, "say": ()}, None, r"FilterObservation\(env, \['p'\]\)"),
        (spaces.Dict({"p": LINE, "own": OWN()}), PLACE, None, r"FilterObservation\(env, \['p'\]\)"),
        (spaces.Box(-BIG, BIG, (1,)), None, None, "give behavior_space"),
        (spaces.Box(-np.inf, np.inf, (1,), np.int64), None, None, "give behavior_space"),
        (spaces.Box(0, np.array([1, 0])), None, None, "low below high, without watch"),
        (LINE, None, lambda v: (*v[:2], v[2] or v[3], v[4]), r"got \(ndarray, float, bool, dict\)"),
        (LINE, None, lambda v: (v[0], np.ones(2), *v[2:]), r"one number .*got array\(\[1., 1.\]\)"),
        (LINE, None, lambda v: (v[0], "1", *v[2:]), "a reward must be one number for each"),
        (LINE, None, lambda v: (*v[:2], None, *v[3:]), "a terminated must be one number"),
        (LINE, None, lambda v: (*v[:3], "no", v[4]), "a truncated must be one number"),
        (spaces.Box(-1, 1, (2,)), PLACE, None, r"one of observation_space, Box.* array\(\[0.\]\)"),
        (LINE, None, lambda v: (None, *v[1:]), "one of observation_space, Box.* got None"),
        (spaces.Discrete(4), 4, None, "one of observation_space, Discrete.* got 4"),
        (spaces.Dict({"p": LINE}), {"q": PLACE}, None, "one of observation_space, Dict"),
        (LINE, np.array([np.nan]), None, "an observation has NaN"),
        (spaces.Box(-1, 1, (2,)), np.full(2, np.inf), None, "NaN or infinite numbers"),
        (spaces.Sequence(LINE), (), None, r"TransformObservation\(env"),
        (OLD(), None, None, r"observation_space .* got MultiBinary\(3\) of `gym`\..*shimmy"),
    ],
)
def test_odd_environments_are_refused_in_words(space, observation, step, message):
    def evaluate():
        task = GymnasiumTask(partial(Odd, space, observation, step), steps=2)
        task.evaluate(task.genotype_space.uniform(KEY, 2), KEY)

    with pytest.raises(ValueError, match=message):
        evaluate()


class Unseeded(Corridor):
    """The corridor without a seed, as of the old Gym API."""

    def reset(self):
        return super().reset()[0]


def test_a_reset_without_a_seed_is_explained():
    message = r"must take a seed; reset\(seed=0\): .* old Gym API .* shimmy's"
    with pytest.raises(ValueError, match=message):
        corridor(make_env=Unseeded).evaluate(np.zeros((1, 2)), KEY)


def test_large_images_are_fewer_at_a_time_and_a_word_is_said():
    space = spaces.Box(0, 255, (80, 80, 3), np.uint8)
    image = np.full(space.shape, 200, np.uint8)
    with pytest.warns(UserWarning, match=r"192,\d* genes.*ResizeObservation"):
        task = GymnasiumTask(lambda: Odd(space, image), steps=1)
    (episode,) = task.episodes(np.zeros((1, task.genotype_space.dimension)))
    assert (episode.observations[0] - episode.observations[0] - 1).max() == -1  # does not wrap


def test_a_copy_with_another_environment_makes_its_own():
    task = corridor()
    (before,) = task.episodes(np.zeros((1, 2)))
    copy = eqx.tree_at(lambda task: task.make_env, task, lambda: Odd(LINE, 5 * np.ones(1)))
    (episode,) = copy.episodes(np.zeros((1, 2)))
    assert (episode.observations == 5).all()
    (after,) = task.episodes(np.zeros((1, 2)))
    assert_array_equal(after.observations, before.observations)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"make_env": lambda: None}, "must make a Gymnasium environment; got None"),
        ({"make_env": lambda n: None, "vector": True}, "must make a VectorEnv; got None"),
        ({"make_env": "Pendulum-v1", "vector": True}, "a function of n as make_env"),
        ({"make_env": "Flappy-v0"}, r"Flappy-v0.* \(.*\). Name the package"),
        ({"make_env": "nowhere:Flappy-v0"}, "No module named 'nowhere'.* Name the package"),
        ({"make_env": lambda: Corridor}, "must make a Gymnasium environment; got <class "),
        ({"make_env": 3}, "make_env: Input should be callable; .* got 3"),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0; got -1"),
        ({"policy": (3, 1)}, r"policy must have genotype_space, actor, .* got \(3, 1\)"),
        ({"make_env": lambda: MADE}, "must make a new environment each time"),
        ({"describe": lambda _: None}, "describe must give an array of real numbers; got None"),
        ({"describe": lambda _: [1, [2, 3]]}, r"describe must give .*; got \[1, \[2, 3\]\]"),
        ({"describe": lambda _: np.zeros(next(LENGTHS))}, "rows of one shape"),
        ({"watch": lambda _: "left"}, "watch must give an array of real numbers; got 'left'"),
        ({"success": lambda _: None}, "success must be one number for each environment; got None"),
        ({"success": lambda _: [True, False]}, "success must be one number for each environment"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(settings, message, unchecked):
    with pytest.raises(ValueError, match=message):
        corridor(**settings).evaluate(np.zeros((2, 2)), KEY)


def test_watch_is_what_describe_sees():
    task = corridor(watch=lambda env: (env.x, 2 * env.x), behavior_space=Box([0.0] * 2, [20.0] * 2))
    (episode,) = task.episodes(np.zeros((1, 2)))
    assert episode.observations.tolist() == [[0, 0], [2, 4], [4, 8]]
    task = corridor(watch=lambda env: np.zeros(1 + int(env.x) % 4))
    with pytest.raises(ValueError, match=r"as many numbers after each step; got \[1, 3, 1\]"):
        task.episodes(np.zeros((1, 2)))


class Telling(gymnasium.vector.SyncVectorEnv):
    """Corridors whose infos say more than one value for each."""

    more: ClassVar[dict[str, Any]] = {
        "rate": 60.0,
        "mean": {"of": 0.5, 3: "a"},
        "gait": "walking",
        "goals": [],
        "height": np.array(3.0),
        "wind": np.zeros(2),
    }

    def step(self, actions):
        *values, infos = super().step(actions)
        return *values, {**infos, **self.more}


def test_infos_that_are_not_one_value_an_environment_are_everyones():
    task = corridor(make_env=lambda n: Telling([Corridor] * n), vector=True)
    for episode in task.episodes(np.zeros((3, 2))):
        assert episode.infos[-1].pop("step") == 1
        assert repr(episode.infos[-1]) == repr(Telling.more)
