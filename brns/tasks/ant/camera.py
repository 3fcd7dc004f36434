"""Off-screen pictures of the ant maze: MuJoCo's own renderer on EGL or OSMesa, without a display."""

import ctypes.util
import importlib
import sys

import numpy as np
from jaxtyping import Float, UInt8

from brns.tasks.ant.model import load_mujoco

# MuJoCo's back ends by platform, each with the library that it needs.
BACKENDS = {"linux": {"egl": "EGL", "osmesa": "OSMesa"}, "darwin": {"cgl": "OpenGL"}}
ADVICE = "On Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)"


class Camera:
    """A drawing context for one model, called to draw; a `RuntimeError` where there is no renderer.

    MuJoCo's `Renderer` needs a display, or the variable MUJOCO_GL from before MuJoCo was first imported.
    """

    def __init__(self, model, size: tuple[int, int]):
        self.mujoco = mujoco = load_mujoco()[0]
        height, width = size
        largest = model.vis.global_.offheight, model.vis.global_.offwidth
        if not (0 < height <= largest[0] and 0 < width <= largest[1]):
            raise ValueError(f"a frame's height and width must be between 1 and {largest}; got {size}")
        self.model, self.data = model, mujoco.MjData(model)
        self.gl = _context(width, height)
        self.gl.make_current()
        self.scene = mujoco.MjvScene(model, maxgeom=1000)
        self.drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.drawing)
        self.option = mujoco.MjvOption()
        self.view = mujoco.MjvCamera()
        self.view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self.frame = mujoco.MjrRect(0, 0, width, height)

    def close(self) -> None:
        self.gl.make_current()
        self.drawing.free()
        self.gl.free()

    def __call__(self, state: Float[np.ndarray, " s"], camera: str) -> UInt8[np.ndarray, "height width 3"]:
        """The picture that a camera of the model takes of a full physics state."""
        mujoco = self.mujoco
        self.gl.make_current()
        mujoco.mj_setState(self.model, self.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(self.model, self.data)
        self.view.fixedcamid = self.model.camera(camera).id
        mujoco.mjv_updateScene(
            self.model, self.data, self.option, None, self.view, mujoco.mjtCatBit.mjCAT_ALL, self.scene
        )
        picture = np.empty((self.frame.height, self.frame.width, 3), np.uint8)
        mujoco.mjr_render(self.frame, self.scene, self.drawing)
        mujoco.mjr_readPixels(picture, None, self.frame, self.drawing)
        return picture[::-1]


def _context(width: int, height: int):
    """A drawing context on the first back end whose library is here."""
    for backend, library in BACKENDS.get(sys.platform, {}).items():
        if ctypes.util.find_library(library):
            try:
                return importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
            except Exception as error:  # each back end has its own kinds of failure
                raise RuntimeError(f"drawing the ant through {backend} failed ({error}). {ADVICE}") from error
    raise RuntimeError(f"drawing the ant needs EGL or OSMesa, and neither was found. {ADVICE}")
