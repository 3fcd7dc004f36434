"""A task of your own: an arm of seven joints. Its behavior is where the tip is,
and a tip in one corner solves it.
"""

import equinox as eqx
import jax.numpy as jnp

import brns


class Arm(eqx.Module):
    genotype_space: brns.Box = brns.Box([-jnp.pi] * 7, [jnp.pi] * 7)
    behavior_space: brns.Box = brns.Box([-1.0, -1.0], [1.0, 1.0])
    traceable: bool = True  # evaluate is JAX code; NumPy, MuJoCo and the like say False

    def evaluate(self, genotypes, key):
        angles = jnp.cumsum(genotypes, axis=1)
        tip = jnp.stack([jnp.cos(angles).mean(axis=1), jnp.sin(angles).mean(axis=1)], axis=1)
        effort = -jnp.abs(genotypes).sum(axis=1)
        return brns.Evaluation(descriptor=tip, fitness=effort, solved=jnp.all(tip > 0.65, axis=1))


if __name__ == "__main__":
    brns.check_task(Arm())
    search = brns.NoveltySearch(Arm(), brns.ArchiveKNN(capacity=1000))
    for record in brns.run(search, generations=50, seeds=[0, 1, 2], out="runs/own-task"):
        print(f"seed {record.seed}: {record.solutions().id.size} arms reach the corner")
