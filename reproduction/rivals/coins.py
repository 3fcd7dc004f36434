"""Novelty by flipping coins: a network whose output is smaller the more often a behavior was seen."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from brns.core import Box, Generation, Population, take, unite
from brns.estimators.encoder import Encoder
from brns.estimators.features import Frame, declared, founded, in_frame, newcomers


class Flips(NamedTuple):
    """Visits with the coins that were thrown for them: a uniform sample of all visits, of constant size."""

    behavior: Float[Array, "n d"]
    coins: Float[Array, "n c"]
    """each 1 or -1, thrown once, at the visit"""
    rank: Float[Array, " n"]
    """the random number drawn at the visit: the lowest stay; infinite in empty rows"""


class CoinState(NamedTuple):
    """The network, the prior that it starts from, its optimiser, and the visits it is trained on."""

    network: Encoder
    prior: Encoder
    optimiser: optax.OptState
    frame: Frame
    flips: Flips
    seen: Int[Array, ""]


class CoinFlips(eqx.Module):
    r"""Novelty as an estimate of one over the visits: $\lVert f(b) \rVert^2 / c$ with f trained to predict coins.

    At each visit c fair coins of +1 and -1 are thrown. Their mean over N visits of one behavior has variance 1 / N, and
    the mean is what a least squares fit predicts. f is a network with a frozen random prior added to it, which gives an
    unseen behavior novelty: about 1 at three deviations of the founders from their mean, a tenth at the mean itself,
    and beyond as the square of the distance. It is trained on visits drawn from a uniform sample of all of them.

    Source: Lobel, Bagaria & Konidaris 2023, Flipping coins to estimate pseudocounts, ICML, arXiv:2306.03186. Departs
    in the buffer, which has a constant size here, so that N is at most what the sample tells, in drawing uniformly
    from it, not by priority, and in a prior that is as its weights make it.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, from 0 on.
    Errors: `ValueError` for settings below 1, and for a learning rate that is not between 0 and 1.
    """

    coins: int = 20
    """c; Lobel et al."""
    width: int = 64
    """neurons in each of two hidden layers; as in `BehaviorRecognition`"""
    reservoir: int = 10000
    """visits kept"""
    batch: int = 256
    """visits in a step of the optimiser"""
    steps: int = 6
    """of the optimiser in a generation; `BehaviorRecognition` takes 3 for a hundred offspring"""
    learning_rate: float = 1e-3
    """of Adam"""

    def __check_init__(self):
        for name in ("coins", "width", "reservoir", "batch", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"CoinFlips.{name} must be at least 1; got {getattr(self, name)}")
        if not 0 < self.learning_rate < 1:
            raise ValueError(f"CoinFlips.learning_rate must be above 0 and below 1; got {self.learning_rate}")

    def init(self, space: Box, key: Key[Array, ""]) -> CoinState:
        d, n = space.dimension, self.reservoir
        network, prior = (Encoder(d, self.coins, self.width, 2, "he-biased", each) for each in jax.random.split(key))
        last = network.layers[-1]
        network = eqx.tree_at(lambda e: e.layers[-1], network, jax.tree.map(jnp.zeros_like, last))
        flips = Flips(jnp.zeros((n, d)), jnp.zeros((n, self.coins)), jnp.full(n, jnp.inf))
        zero = jnp.zeros((), jnp.int32)
        return CoinState(network, prior, self._adam.init(network), declared(space), flips, zero)

    def score(self, state: CoinState, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The estimate of one over the visits; the population plays no part."""
        return jnp.mean(_predicted(state.network, state, in_frame(state.frame, descriptors)) ** 2, axis=1)

    def update(self, state: CoinState, generation: Generation, key: Key[Array, ""]) -> CoinState:
        """Coins thrown for each newcomer, then `steps` steps of Adam on draws from the sample."""
        throw, rank, draw = jax.random.split(key, 3)
        state = state._replace(frame=founded(state.frame, unite(generation.parents, generation.offspring)))
        behavior = in_frame(state.frame, unite(generation.parents, generation.offspring).descriptor)
        new = newcomers(generation, state.seen == 0) & jnp.all(jnp.isfinite(behavior), axis=1)
        coins = jax.random.rademacher(throw, (len(behavior), self.coins), jnp.float32)
        state = state._replace(flips=_kept(state.flips, behavior, coins, new, rank), seen=state.seen + jnp.sum(new))
        filled = jnp.maximum(jnp.sum(jnp.isfinite(state.flips.rank)), 1)

        def descend(carry, key):
            network, optimiser = carry
            rows = jax.random.randint(key, (self.batch,), 0, filled)
            gradient = jax.grad(_error)(network, state, take(state.flips, rows))
            change, optimiser = self._adam.update(gradient, optimiser)
            return (optax.apply_updates(network, change), optimiser), None

        start = (state.network, state.optimiser)
        network, optimiser = jax.lax.scan(descend, start, jax.random.split(draw, self.steps))[0]
        return state._replace(network=network, optimiser=optimiser)

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


def _predicted(network: Encoder, state: CoinState, points: Float[Array, "n d"]) -> Float[Array, "n c"]:
    """f: the network, and its prior."""
    return network(points) + state.prior(points)


def _error(network: Encoder, state: CoinState, flips: Flips) -> Float[Array, ""]:
    return jnp.mean((_predicted(network, state, flips.behavior) - flips.coins) ** 2)


def _kept(
    flips: Flips,
    behavior: Float[Array, "n d"],
    coins: Float[Array, "n c"],
    new: Bool[Array, " n"],
    key: Key[Array, ""],
) -> Flips:
    """The sample with the newcomers: of all visits ever, those whose random number is lowest."""
    rank = jnp.where(new, jax.random.uniform(key, new.shape), jnp.inf)
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), flips, Flips(behavior, coins, rank))
    return take(both, jax.lax.top_k(-both.rank, flips.rank.shape[0])[1])
