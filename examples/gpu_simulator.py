"""A simulator on a GPU that is not JAX, such as Isaac Lab: a fixed number of environments,
and tensors exchanged by DLPack.

    python examples/gpu_simulator.py            (the simulator is a stand-in in NumPy; ten seconds)

A batch is one call: the task pads it to the number of environments and cuts the result; `Chunked`
splits larger batches. A GPU adds in any order, so the same push ends elsewhere by rounding, and
`check_task` gets a tolerance. A resumed run has the same bits in the saved generations; later ones
differ, as those of two runs with one seed do.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import brns
from brns.metrics.coverage import coverage_of_record
from brns.tasks.chunked import Chunked

ENVIRONMENTS = 64


class Pucks:
    """The stand-in: a puck with friction in each environment.
    Isaac's forces and positions are torch's tensors on the GPU.
    """

    def reset(self):
        self.position = np.zeros((ENVIRONMENTS, 2), np.float32)
        self.velocity = np.zeros((ENVIRONMENTS, 2), np.float32)

    def step(self, forces):
        rounding = 1 + 1e-7 * np.random.standard_normal(forces.shape)
        self.velocity[:] = 0.95 * self.velocity + 0.02 * forces * rounding
        self.position[:] = np.clip(self.position + self.velocity, -1, 1)


class Push(eqx.Module):
    """Four pushes of 25 steps each; the behavior is where the puck is then."""

    genotype_space: brns.Box = brns.Box([-1.0] * 8, [1.0] * 8)
    behavior_space: brns.Box = brns.Box([-1.0, -1.0], [1.0, 1.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        forces = np.resize(
            np.from_dlpack(genotypes), (ENVIRONMENTS, 4, 2)
        )  # with torch: torch.from_dlpack
        SIMULATOR.reset()
        for t in range(100):
            SIMULATOR.step(forces[:, t // 25])
        ends = SIMULATOR.position.copy()  # the simulator writes over its own; with torch: clone()
        return brns.Evaluation(jnp.from_dlpack(ends)[: len(genotypes)])


SIMULATOR = Pucks()  # not a field of the task, which would be a setting that a record keeps

if __name__ == "__main__":
    task = Chunked(Push(), chunk=ENVIRONMENTS)
    brns.check_task(task, n=ENVIRONMENTS, sizes=(10,), tolerance=1e-5)
    search = brns.NoveltySearch(task)
    brns.run(search, generations=10, out="runs/pucks")
    (record,) = brns.resume("runs/pucks", generations=20, search=search)
    for g in (10, 20):
        print(
            f"{coverage_of_record(record, (20, 20), 'evaluated')[g]:.0%} of a 20 x 20 grid after "
            f"{g} generations"
        )
