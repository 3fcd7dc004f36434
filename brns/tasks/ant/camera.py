"""Off-screen pictures of the ant maze by MuJoCo's own renderer, without a display."""

import numpy as np
from jaxtyping import Float, UInt8

from brns.tasks.ant.model import load_mujoco


class Camera:
    """A renderer of one model, for pictures of so many pixels, height and width. `close` gives its memory back.

    Errors: `RuntimeError` where there is no renderer, or where the pictures are larger than it can draw.
    """

    def __init__(self, model, size: tuple[int, int]):
        self.mujoco = load_mujoco()[0]
        self.model, self.data = model, self.mujoco.MjData(model)
        try:
            self.renderer = self.mujoco.Renderer(model, *size)
        except Exception as error:  # each of MuJoCo's back ends has its own kinds of failure
            raise RuntimeError(
                f"drawing the ant off-screen failed ({error}). It needs EGL or OSMesa before MuJoCo is imported; on "
                "Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)"
            ) from error
        self.close = self.renderer.close

    def __call__(self, state: Float[np.ndarray, " s"], camera: str) -> UInt8[np.ndarray, "height width 3"]:
        """The picture that the named camera of the model takes of a full physics state."""
        self.mujoco.mj_setState(self.model, self.data, state, self.mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.mujoco.mj_forward(self.model, self.data)
        self.renderer.update_scene(self.data, camera)
        return self.renderer.render()
