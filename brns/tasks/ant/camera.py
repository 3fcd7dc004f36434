"""Off-screen pictures of the ant maze: MuJoCo's own renderer on EGL or OSMesa, without a display."""

import ctypes.util
import importlib
import sys
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, UInt8

from brns.tasks.ant.model import load_mujoco

WIDTH, HEIGHT = 480, 360
# MuJoCo's back ends by platform, each with the library that it needs. Its `Renderer` needs a display, or the variable
# MUJOCO_GL from before MuJoCo was first imported.
BACKENDS = {"linux": {"egl": "EGL", "osmesa": "OSMesa"}, "darwin": {"cgl": "OpenGL"}}
ADVICE = "On Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)"


def pictures(
    model, states: Iterable[Float[np.ndarray, " s"]], camera: str = "follow"
) -> Iterator[UInt8[np.ndarray, "360 480 3"]]:
    """What a camera of the model sees in each full physics state; a `RuntimeError` where there is no renderer."""
    mujoco = load_mujoco()[0]
    context = _context()
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
            mujoco.mjv_updateScene(model, data, option, None, view, mujoco.mjtCatBit.mjCAT_ALL, scene)
            picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
            mujoco.mjr_render(frame, scene, drawing)
            mujoco.mjr_readPixels(picture, None, frame, drawing)
            yield picture[::-1]
    finally:
        context.make_current()
        drawing.free()
        context.free()


def _context():
    """A drawing context on the first back end whose library is here."""
    for backend, library in BACKENDS.get(sys.platform, {}).items():
        if ctypes.util.find_library(library):
            try:
                return importlib.import_module(f"mujoco.{backend}").GLContext(WIDTH, HEIGHT)
            except Exception as error:  # each back end has its own kinds of failure
                raise RuntimeError(f"drawing the ant through {backend} failed ({error}). {ADVICE}") from error
    raise RuntimeError(f"drawing the ant needs EGL or OSMesa, and neither was found. {ADVICE}")
