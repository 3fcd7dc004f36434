"""The ant in MuJoCo: its states, stepped by threads, and pictures of them, drawn off-screen."""

import atexit
import ctypes.util
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8

from brns.tasks.ant.model import make_ant_xml
from brns.tasks.cpu import count_cores

BOUND = 50.0  # metres, of a position, in every dimension
# Of an observation.
SHIFT = np.array([5.0, 5.0, *27 * [0.0]])
SCALE = np.array([70.0, 70.0, *27 * [1.0]])
# Of time, and the torso's place; MuJoCo's own limit for the rest.
SOUND = np.array([np.inf, *3 * [BOUND], *26 * [1e10]])
WIDTH, HEIGHT = 480, 360
# MuJoCo's back ends by platform, each with the library that it needs. Its `Renderer` needs a
# display, or the variable MUJOCO_GL from before MuJoCo was first imported.
BACKENDS = {"linux": {"egl": "EGL", "osmesa": "OSMesa"}, "darwin": {"cgl": "OpenGL"}}
ADVICE = "On Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)"


def load_mujoco() -> Any:
    """The module `mujoco`, with `mujoco.rollout`; an `ImportError` says what to install."""
    try:
        importlib.import_module("mujoco.rollout")
        mujoco = importlib.import_module("mujoco")
        version = mujoco.__version__
    except ImportError:
        version = "none"
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < (3, 5):
        raise ImportError(
            f"the ant maze needs MuJoCo 3.5 or later; found {version}: pip install --upgrade "
            "'brns[ant]'"
        )
    return mujoco


class Physics:
    """The compiled model and its threads; a state is time, 15 positions and 14 velocities."""

    def __init__(self, arena: str, integrator: str, threads: int):
        mujoco = load_mujoco()
        self.model = mujoco.MjModel.from_xml_string(make_ant_xml(arena, integrator))
        self.memory = [mujoco.MjData(self.model) for _ in range(threads)]
        self.pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.lock = Lock()  # the pool must not be used from several threads at once
        atexit.register(self.pool.close)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.start = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.memory[0], self.start, kind)

    def advance_and_mask_stable(
        self, state: Float[np.ndarray, "n s"], action: Float[np.ndarray, "n a"], physics_steps: int
    ) -> tuple[Float[np.ndarray, "n s"], Bool[np.ndarray, " n"]]:
        """One control step of n ants, of whose 8 joints the actions are from -1 to 1: their next
        states, and which of them are sound.

        The solver's warm start is cleared first, so that the next state depends on state and action
        alone. After a warning MuJoCo stops a simulation and its clock.
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


shared = lru_cache(maxsize=8)(Physics)
"""the same physics for all who ask for it in this process"""


def read_position(state: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "n 2"]:
    """The torso's x and y."""
    return state[:, 1:3]


def compute_observation(state: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "n 29"]:
    """What the ant senses: 15 positions, x and y mapped to (value - 5) / 70, and 14 velocities."""
    return (state[:, 1:30] - SHIFT) / SCALE


def count_threads() -> int:
    """As many as OMP_NUM_THREADS says, which is 1 in worker processes, or as there are cores."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) else count_cores()


def iterate_pictures_of_states(
    model, states: Iterable[Float[np.ndarray, " s"]], camera: str = "follow"
) -> Iterator[UInt8[np.ndarray, "360 480 3"]]:
    """What a camera sees of physics states; a `RuntimeError` where there is no renderer."""
    mujoco = load_mujoco()
    context = _open_render_context()
    context.make_current()
    data = mujoco.MjData(model)
    option = mujoco.MjvOption()
    frame = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
    scene = mujoco.MjvScene(model, maxgeom=1000)
    drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, drawing)
    view = mujoco.MjvCamera()
    view.type = mujoco.mjtCamera.mjCAMERA_FIXED
    view.fixedcamid = model.camera(camera).id
    try:
        for state in states:
            context.make_current()
            mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            mujoco.mj_forward(model, data)
            everything = mujoco.mjtCatBit.mjCAT_ALL
            mujoco.mjv_updateScene(model, data, option, None, view, everything, scene)
            picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
            mujoco.mjr_render(frame, scene, drawing)
            mujoco.mjr_readPixels(picture, None, frame, drawing)
            yield picture[::-1]
    finally:
        context.make_current()
        drawing.free()
        context.free()


def _open_render_context():
    """A drawing context on the first back end whose library is here."""
    for backend, library in BACKENDS.get(sys.platform, {}).items():
        if ctypes.util.find_library(library):
            try:
                return importlib.import_module(f"mujoco.{backend}").GLContext(WIDTH, HEIGHT)
            except Exception as error:  # each back end has its own kinds of failure
                raise RuntimeError(
                    f"drawing the ant through {backend} failed ({error}). {ADVICE}"
                ) from error
    raise RuntimeError(f"drawing the ant needs EGL or OSMesa, and neither was found. {ADVICE}")
