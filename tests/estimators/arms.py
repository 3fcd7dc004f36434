"""How many cells of 25 x 25 an arm reaches from founders, and with a declared box, of any scale."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns import Box, NoveltySearch, PlanarArm, PolynomialMutation

ARM = PlanarArm()


class BoxedArm(eqx.Module):
    """The arm with another declared box; its arrays, and not its values, are compiled."""

    behavior_space: Box
    genotype_space: Box = ARM.genotype_space
    traceable = True

    def evaluate(self, genotypes, key):
        return ARM.evaluate(genotypes, key)


class Rows(eqx.Module):
    """Founders as they are given."""

    genotypes: jax.Array

    def __call__(self, key, n, box):
        return self.genotypes


def covered(estimator, deviation=None, times=1.0, seeds=3) -> float:
    """The mean over seeds of 100 + 100 and 100 generations. Founders deviate so much from one arm, or are uniform."""
    box = Box([0.5 - times / 2] * 2, [0.5 + times / 2] * 2)
    cells = []
    for seed in range(seeds):
        key, generator = jax.random.key(seed), np.random.default_rng(seed)
        genes = generator.uniform(size=(100, 7))
        if deviation is not None:
            genes = np.clip(0.35 + 0.3 * genes[0] + deviation * generator.normal(size=genes.shape), 0, 1)
        search = NoveltySearch(
            BoxedArm(box), estimator, mutate=PolynomialMutation(), founders=Rows(jnp.asarray(genes, jnp.float32))
        )
        places = np.asarray(_reached(search, search.init(key), key)).reshape(-1, 2)
        cells.append(len(np.unique(np.floor(np.clip(places, 0, 0.9999) * 25) @ [25, 1])))
    return float(np.mean(cells))


@eqx.filter_jit
def _reached(search, state, key):
    def generation(state, _):
        state, facts = search.step(state, key)
        return state, facts.offspring.descriptor

    return jax.lax.scan(generation, state, length=100)[1]
