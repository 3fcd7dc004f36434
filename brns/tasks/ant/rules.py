"""The ant maze: a four-legged robot in a walled arena, MuJoCo, with areas to find."""

import logging
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key
from pydantic import NonNegativeFloat, PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Evaluation
from brns.tasks.ant import physics
from brns.tasks.ant.model import AREA_RADIUS, ARENAS, START
from brns.tasks.ant.physics import BOUND, compute_observation, read_position
from brns.tasks.policy import FeedForward, Genotypes, Rows
from brns.tasks.scene import COLOURS, Area, Film, Scene, make_plain_scene

POLICY = FeedForward((29, 10, 10, 10, 8), squash_output=True)
logger = logging.getLogger(__name__)


class Episodes(NamedTuple):
    """The trajectories of n ants; one that ended before the last step holds its last position."""

    path: Float[np.ndarray, "n times 2"]
    """the torso's x and y in metres, at the start and after each control step"""
    length: Int[np.ndarray, " n"]
    """control steps until the episode ended"""
    visited: Bool[np.ndarray, "n areas"]
    """the areas that the torso came within 5 m of"""
    stuck: Bool[np.ndarray, " n"]
    """ended by the rule for stuck ants"""
    unstable: Bool[np.ndarray, " n"]
    """ended because the physics left its domain; the path up to then stands"""


class AntMaze(eqx.Module):
    r"""An ant that a feed-forward network moves through an arena with areas to visit.

    Behavior is the torso's path in metres: K = 16 positions (48 in the huge arena), the k-th of
    them after $\lfloor k T / K \rfloor$ of T control steps. Fitness is the number of areas visited.
    Visiting all solves the task and ends the episode. Unstable physics (a number that is not
    finite, a warning of MuJoCo's, a torso beyond 50 m) also ends it, with a warning. The last sound
    position then stands for the rest of the time.

    Shapes: genotypes `(n, 608)`, the weights and biases of 29 -> 10 -> 10 -> 10 -> 8, tanh
    everywhere; descriptors `(n, 32)` or `(n, 96)`. A genotype gives the same bits in any batch and
    with any number of threads, but not with another MuJoCo or processor.
    Source: Salehi, Coninx & Doncieux, GECCO 2021, section 5.2. The published code differs: its
    paths run backwards in time, visiting all areas gives 1 more, "stuck" episodes end by a sum of
    observations with a reward of -5 and a history that leaks between individuals, and the
    integrator is RK4, with which other individuals go far.
    """

    arena: Literal["large", "huge"] = "large"
    """large: 70 m wide, three areas, paper, section 5.2; huge: 100 m wide, four areas"""
    steps: int = 1500
    """control steps of an episode; paper, section 5.2"""
    integrator: Literal["implicitfast", "RK4"] = "implicitfast"
    """MuJoCo's integrator; RK4 in the published code, at more than three times the cost"""
    frame_skip: PositiveInt = 5
    """physics steps of 0.005 s in a control step; published code"""
    stuck_distance: NonNegativeFloat = 0.0
    """metres; an episode ends when the ant stays within a square of
    this side for a whole window; 0 is off"""
    stuck_window: PositiveInt = 100
    """control steps of a window; the next window begins where one ends"""

    traceable = False

    def __check_init__(self):
        check_setting_types(self)
        samples = ARENAS[self.arena].samples
        rule = self.steps >= samples, f"at least {samples}, the positions of a path"
        check_settings_obey_rules(self, steps=rule)

    @property
    def genotype_space(self) -> Box:
        """Weights and biases in [-1, 1]; paper, section 5."""
        return POLICY.genotype_space

    @property
    def behavior_space(self) -> Box:
        """x, y of every sampled position, each in [-50, 50]; paper, section 5.2."""
        d = 2 * ARENAS[self.arena].samples
        return Box([-BOUND] * d, [BOUND] * d)

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        """What n ants do; see `Task.evaluate`. Nothing is random."""
        episodes = self.episodes(genotypes)
        return Evaluation(
            jnp.asarray(self.descriptor(episodes.path), jnp.float32),
            jnp.asarray(episodes.visited.sum(1), jnp.float32),
            jnp.asarray(episodes.visited.all(1)),
        )

    def descriptor(self, path: Float[np.ndarray, "n times 2"]) -> Float[np.ndarray, "n d"]:
        """The positions sampled from whole paths.

        Args:
            path: x and y after each step, in metres, `(n, steps + 1, 2)`.

        Returns:
            x1, y1, x2, y2, ..., `(n, 2 K)`.
        """
        samples = ARENAS[self.arena].samples
        return path[:, np.arange(1, samples + 1) * self.steps // samples].reshape(len(path), -1)

    def trajectory(self, genotypes: Genotypes, every: int = 10) -> Float[np.ndarray, "n times 2"]:
        """The torso's path.

        Args:
            genotypes: `(n, 608)`.
            every: control steps between positions.

        Returns:
            x and y in metres, at the start, after each `every` steps, and at the end.
        """
        frames = np.union1d(np.arange(0, self.steps, every), self.steps)
        return self.episodes(genotypes).path[:, frames]

    def scene(self) -> Scene:
        """The arena from above, with its areas, in metres."""
        arena, scene = ARENAS[self.arena], make_plain_scene(self.behavior_space)
        areas = []
        for colour, (x, y) in arena.areas.items():
            areas.append(Area(x, y, AREA_RADIUS, f"{colour} area", COLOURS[colour]))
        return scene._replace(
            axes=("x (m)", "y (m)"),
            paths=True,
            walls=arena.rasterize_walls(scene.low[0], scene.high[0]),
            walls_extent=scene.extent,
            start=START[:2],
            areas=tuple(areas),
        )

    def film(self, genotype: Float[Rows, " p"]) -> Film:
        """One episode at twice its speed, ten pictures a second, drawn off-screen.

        Args:
            genotype: `(608,)`.

        Returns:
            Pictures, made as they are asked for.
        """
        every, states = 8, []
        self.episodes(np.asarray(genotype)[None], threads=1, note=states.append)
        filmed = np.concatenate(states[::every])
        model = physics.shared(self.arena, self.integrator, 1).model
        pictures = physics.iterate_pictures_of_states(model, filmed)
        return Film(pictures, self.steps // every + 1, 10.0)

    def episodes(
        self,
        genotypes: Genotypes,
        threads: int | None = None,
        note: Callable[[Float[np.ndarray, "n s"]], Any] = lambda state: None,
    ) -> Episodes:
        """Whole episodes.

        Args:
            genotypes: `(n, 608)`.
            threads: by default `physics.count_threads()`.
            note: is given the physics of those who live, at the start and after each step.

        Returns:
            Paths, and how each episode ended.

        Raises:
            ValueError: for genotypes that are not finite.
        """
        genotypes = np.asarray(genotypes)
        if not np.isfinite(genotypes).all():
            raise ValueError("genotypes must be finite numbers")
        n = len(genotypes)
        areas = np.array(list(ARENAS[self.arena].areas.values()))
        path = np.empty((self.steps + 1, n, 2))
        length = np.full(n, self.steps)
        visited = np.zeros((n, len(areas)), bool)
        stuck, unstable = np.zeros((2, n), bool)
        simulator = physics.shared(self.arena, self.integrator, threads or physics.count_threads())
        state = np.tile(simulator.start, (n, 1))
        path[0] = read_position(state)
        layers, alive = POLICY.layers(genotypes), np.arange(n)
        note(state)
        for t in range(1, self.steps + 1):
            if not alive.size:
                break
            action = POLICY.act(layers, compute_observation(state).T).T
            state, sound = simulator.advance_and_mask_stable(state, action, self.frame_skip)
            note(state)
            path[t, alive] = here = read_position(state)
            inside = mask_areas_of_each_position(here, areas)
            checked = self.stuck_distance and t % self.stuck_window == 0
            if sound.all() and not inside.any() and not checked:
                continue  # nothing happened
            unstable[alive] = ~sound
            visited[alive] |= inside & sound[:, None]
            if checked:
                extent = np.ptp(path[t - self.stuck_window : t + 1, alive], axis=0).max(axis=1)
                stuck[alive] = sound & (extent < self.stuck_distance)
            ended = unstable[alive] | stuck[alive] | visited[alive].all(axis=1)
            length[alive[ended]] = t
            alive, state = alive[~ended], state[~ended]
            layers = [(weights[..., ~ended], biases[:, ~ended]) for weights, biases in layers]
        if unstable.any():
            logger.warning(
                "unstable physics ended %d of %d episodes before their last step", unstable.sum(), n
            )
        # After the end the last again.
        times = np.minimum(np.arange(self.steps + 1), (length - unstable)[:, None])
        return Episodes(path[times, np.arange(n)[:, None]], length, visited, stuck, unstable)


def mask_areas_of_each_position(
    positions: Float[np.ndarray, "n 2"], centers: Float[np.ndarray, "areas 2"]
) -> Bool[np.ndarray, "n areas"]:
    """In which areas ants stand, each known by its torso's place."""
    offset = positions[:, None] - centers
    return np.einsum("nac,nac->na", offset, offset) <= AREA_RADIUS**2
