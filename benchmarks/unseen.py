"""Novelties and mutations in worlds and seeds by which nothing was chosen.

    python benchmarks/unseen.py [--out results/unseen]

Resumable: OUT gets a file for each world and method, and OUT.md is the page.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from pages import make_parser

import brns
from brns.comparison.worlds import Cells, World, world


class Whirl(eqx.Module):
    """A boat with 12 thrusts of a second each in a current; its behavior is where it ends,
    in a harbour of 10 m x 10 m.

    dv/dt = thrust + current - v / 2, dx/dt = v, by Euler steps of 0.1 s from rest in the middle;
    at a wall it stays.
    """

    genotype_space: brns.Box = brns.Box([-1.0] * 24, [1.0] * 24)
    behavior_space: brns.Box = brns.Box([0.0, 0.0], [10.0, 10.0])
    traceable: bool = True

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> brns.Evaluation:
        thrusts = jnp.repeat(genotypes.reshape(-1, 12, 2), 10, axis=1).swapaxes(0, 1)

        def step(boat, thrust):
            x, v = boat
            current = jnp.stack([jnp.sin(x[:, 1]), jnp.cos(2 * x[:, 0])], axis=1)
            v = v + 0.1 * (thrust + current - v / 2)
            moved = x + 0.1 * v
            x = jnp.clip(moved, 0.0, 10.0)
            return (x, jnp.where(x == moved, v, 0.0)), None

        middle = jnp.full((len(genotypes), 2), 5.0)
        (x, _), _ = jax.lax.scan(step, (middle, jnp.zeros_like(middle)), thrusts)
        return brns.Evaluation(x)


def unseen(like: str, name: str, task: Callable[[], brns.Task]) -> World:
    """Another task in the place of that of a world of the suite."""
    return world(like)._replace(name=name, title=name, split="held out", task=task)


LINKS = tuple(range(1, 11))
FEW = Cells((-51.2, -51.2), (51.2, 51.2), 50, 2500, "geometry: every pair of sums can be made")
HARBOUR = Cells((0.0, 0.0), (10.0, 10.0), 20, 400, "all cells of the box")
WORLDS = [
    unseen("rooms-1", "rooms-3x3", lambda: brns.RoomsMaze(seed=11, rooms=3)),
    unseen("rooms-1", "rooms-4x4", lambda: brns.RoomsMaze(seed=12, rooms=4)),
    unseen("rooms-1", "rooms-5x5", lambda: brns.RoomsMaze(seed=13, rooms=5)),
    unseen("rooms-1", "rooms-6x6", lambda: brns.RoomsMaze(seed=14, rooms=6))._replace(
        population_size=50
    ),
    unseen("arm", "arm-3", lambda: brns.PlanarArm(3)),
    unseen("arm", "arm-50", lambda: brns.PlanarArm(50)),
    unseen("arm", "arm-growing", lambda: brns.PlanarArm(10, "tip", LINKS)),
    unseen("arm-joints", "arm-12-joints", lambda: brns.PlanarArm(12, "joints"))._replace(
        population_size=50
    ),
    unseen("projection", "projection-20", lambda: brns.LinearProjection(20))._replace(
        cells=FEW, title="projection of 20 genes; 100 served to choose grids and crossover"
    ),
    unseen("arm", "boat", Whirl)._replace(generations=150, cells=HARBOUR),
]
METHODS = {
    "archive": brns.ArchiveKNN(),
    "counts": brns.VisitCounts(),
    "exact": brns.ExactRecognition(),
}
MUTATIONS = {"polynomial": brns.PolynomialMutation(), "mixed": brns.MixedMutation()}

if __name__ == "__main__":
    out = make_parser(__doc__, "results/unseen").parse_args().out
    print(brns.compare(WORLDS, METHODS, mutations=MUTATIONS, seeds=range(300, 320), out=out))
