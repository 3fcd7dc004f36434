"""An estimator of your own: novelty as the distance to the mean of all behaviors seen so far."""

import equinox as eqx
import jax.numpy as jnp

import brns


class DistanceToMean(eqx.Module):
    def init(self, space, key):
        return {"sum": jnp.zeros(space.dimension), "count": jnp.zeros(())}

    def score(self, state, descriptors, population):
        return jnp.linalg.norm(descriptors - state["sum"] / jnp.maximum(state["count"], 1), axis=1)

    def update(self, state, generation, key):
        seen = ~generation.offspring.failed[:, None]
        total = jnp.sum(generation.offspring.descriptor, axis=0, where=seen)
        return {"sum": state["sum"] + total, "count": state["count"] + seen.sum()}


if __name__ == "__main__":
    brns.check_estimator(DistanceToMean())
    search = brns.NoveltySearch(brns.DeceptiveMaze(steps=500), DistanceToMean())
    (record,) = brns.run(search, generations=20, out="runs/own-estimator")
    print(record.column("survivors.descriptor").shape, "behaviors of survivors in", record.path)
