"""The ant's physics: MuJoCo's states, stepped by threads."""

import atexit
import os
from functools import lru_cache
from threading import Lock

import numpy as np
from jaxtyping import Bool, Float

from brns.tasks.ant.model import ant_xml, load_mujoco
from brns.tasks.cpu import cores

BOUND = 50.0  # metres, of the world, in every dimension
SHIFT, SCALE = np.array([5.0, 5.0, *27 * [0.0]]), np.array([70.0, 70.0, *27 * [1.0]])  # of an observation
SOUND = np.array([np.inf, *3 * [BOUND], *26 * [1e10]])  # of time, the torso's place; MuJoCo's own limit for the rest


class Physics:
    """The compiled model, a pool of threads, and one simulation's memory for each of them.

    A state is MuJoCo's full physics state: time, 15 positions, 14 velocities.
    """

    def __init__(self, arena: str, integrator: str, threads: int):
        mujoco, rollout = load_mujoco()
        self.model = mujoco.MjModel.from_xml_string(ant_xml(arena, integrator))
        self.memory = [mujoco.MjData(self.model) for _ in range(threads)]
        self.pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.lock = Lock()  # the pool must not be used from several threads at once
        atexit.register(self.pool.close)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.start = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.memory[0], self.start, kind)

    def advance(
        self, state: Float[np.ndarray, "n s"], action: Float[np.ndarray, "n a"], physics_steps: int
    ) -> tuple[Float[np.ndarray, "n s"], Bool[np.ndarray, " n"]]:
        """One control step of n ants: their next states, and which of them are sound.

        The solver's warm start is cleared first, so that the next state depends on state and action alone. After a
        warning MuJoCo stops a simulation and its clock.
        """
        n = len(state)
        states = np.empty((n, physics_steps, state.shape[1]))
        with self.lock:
            self.pool.rollout(
                [self.model] * n,
                self.memory,
                state,
                np.repeat(action[:, None], physics_steps, axis=1),
                nstep=physics_steps,
                skip_checks=True,
                state=states,
                sensordata=np.empty((n, physics_steps, 0)),
                chunk_size=max(1, n // (4 * len(self.memory))),
            )
        after = np.ascontiguousarray(states[:, -1])
        in_time = after[:, 0] > state[:, 0] + (physics_steps - 0.5) * self.model.opt.timestep
        return after, in_time & (np.abs(after) <= SOUND).all(axis=1)


@lru_cache(maxsize=8)
def shared(arena: str, integrator: str, threads: int) -> Physics:
    """The same physics for all who ask for it in this process."""
    return Physics(arena, integrator, threads)


def position(state: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "n 2"]:
    """The torso's x and y."""
    return state[:, 1:3]


def observation(state: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "n 29"]:
    """What the ant senses: 15 positions, x and y mapped to (value - 5) / 70, and 14 velocities."""
    return (state[:, 1:30] - SHIFT) / SCALE


def threads() -> int:
    """As many as OMP_NUM_THREADS says, which is 1 in worker processes, or as there are cores."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else cores()
