"""Behavior recognition: the paper's novelty."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from annotated_types import Ge, Gt, Le, Lt
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from pydantic import NonNegativeInt, PositiveInt

from brns.checks.parts import check_setting_types
from brns.core import Box, Generation, Population
from brns.core.population import concatenate_populations
from brns.estimators.encoder import (
    WIDEST_LAYER,
    Encoder,
    build_encoder,
    init_weights_and_count_outputs,
)

Width = Annotated[int, Ge(1), Le(WIDEST_LAYER)]
Rate = Annotated[float, Gt(0), Lt(1)]


class RecognitionState(NamedTuple):
    """The two encoders, the map from descriptors to their inputs, and the optimiser."""

    target: PyTree
    """xi*: an `Encoder`, or the weights alone of an encoder of your own"""
    predictor: PyTree
    """xi1, likewise"""
    optimiser: optax.OptState
    center: Float[Array, " d"]
    scale: Float[Array, " d"]


class BehaviorRecognition(eqx.Module):
    r"""BR-NS, random network distillation on descriptors: the error of a network that learns to
    imitate a frozen random one on past behaviors. The defaults are ours; the paper's are in
    `experiments.make_paper_brns()`.

    $\mathcal{M}(b, w) = \lVert \xi^*(b) - \xi_1(b; w) \rVert_2^2$ with a frozen random encoder
    $\xi^*$ and a trained encoder $\xi_1$. Before the search, gradient ascent on $\mathcal{M}$ over
    uniform points drives them apart. In every generation $\xi_1$ descends on $\mathcal{M}$ over D:
    the offspring, and in the first generation the founders too.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, sections 3.1-3.2, Algorithm 1,
    doi:10.1145/3449639.3459303. Four defaults depart from it, since they are more reliable
    (docs/reproduction): inputs are scaled; initial weights and biases are uniform, as in the
    published code; hidden layers have 64 neurons, not 3 d; and dim(E) is 32, not 2 d.
    `experiments.make_paper_brns()` has the paper's settings.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; embeddings `(n, dim(E))`;
    novelty `(n,)`, a squared embedding distance, comparable only within one run.
    Where training overflows novelty is NaN, with which a run ends.

    Raises:
        ValueError: for settings out of range.
    """

    embedding: Width | None = 32
    """dim(E), the outputs of an encoder; with none the paper's 2 d, section 5"""
    width: Width | None = 64
    """neurons in a hidden layer; with none the paper's 3 d, section 5,
    whose cost grows with d squared"""
    depths: tuple[NonNegativeInt, NonNegativeInt] = (3, 5)
    """hidden layers of xi* and of xi1; paper, section 5"""
    learning_rate: Rate = 1e-2
    """learning rate of Adam; paper, section 5"""
    epochs: PositiveInt = 3
    """passes over D in a generation; published code, within the paper's 1 to 5 steps"""
    batch: PositiveInt = 128
    """largest number of behaviors in an optimisation step; published code"""
    learn_from: Literal["offspring", "survivors"] = "offspring"
    """what D holds: offspring as in Algorithm 1, or survivors as in the published code"""
    inputs: Literal["raw", "scaled"] = "scaled"
    """descriptors as they are (published code), or mapped from the behavior space to [-1, 1]"""
    initialisation: Literal["he", "he-biased", "uniform"] = "uniform"
    """he: Gaussian He, zero biases (paper, section 3.2); he-biased: the same, but biases uniform in
    +-0.3; uniform: weights and biases in +-1/sqrt(fan_in) (published code)"""
    divergence_steps: NonNegativeInt = 15
    """steps of gradient ascent on M before the search; paper, section 3.2 (published code: 50)"""
    divergence_learning_rate: Rate = 1e-3
    """learning rate of Adam in these steps; published code"""
    divergence_batch: PositiveInt = 32
    """uniform points in each of these steps; published code"""
    encoder: Callable[..., Any] | None = None
    """an architecture of your own, `encoder(key, depth)`, called for xi* and for xi1 with their
    number in `depths`; it makes a module that maps `(n, d)` to `(n, e)`, whose JAX arrays are its
    weights (docs/encoders). `embedding`, `width` and `initialisation` play no part then"""

    __check_init__ = check_setting_types

    def init(self, space: Box, key: Key[Array, ""]) -> RecognitionState:
        """Draw xi* and xi1 and drive xi1 away from xi* (section 3.2); see `NoveltyEstimator.init`.

        Raises:
            ValueError: where an `encoder` gives xi* and xi1 different numbers of outputs.
        """
        d = space.dimension
        key_target, key_predictor, key_diverge = jax.random.split(key, 3)
        target, e = self._init_weights_and_count_outputs(d, self.depths[0], key_target)
        predictor, outputs = self._init_weights_and_count_outputs(d, self.depths[1], key_predictor)
        if e != outputs:
            raise ValueError(
                f"both encoders must embed in one space: xi* has {e} outputs and xi1 has {outputs}"
            )
        scaled = self.inputs == "scaled"
        center = (space.low + space.high) / 2 if scaled else jnp.zeros_like(space.low)
        scale = (space.high - space.low) / 2 if scaled else jnp.ones_like(space.low)
        state = RecognitionState(target, predictor, (), center, scale)
        predictor = self._maximize_initial_error(state, space, key_diverge)
        return state._replace(predictor=predictor, optimiser=self._adam.init(predictor))

    def embed(
        self, state: RecognitionState, descriptors: Float[Array, "n d"]
    ) -> Float[Array, "n e"]:
        """xi*(b), the space in which this novelty is measured; see `metrics.cycling.Embeds`."""
        return self._build_network(state.target, 0)(_scale_inputs(state, descriptors))

    def score(
        self, state: RecognitionState, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """M(b, w), by the weights and not the population; see `NoveltyEstimator.score`."""
        points = _scale_inputs(state, descriptors)
        embedding = self._build_network(state.target, 0)(points)
        return self._compute_error(state.predictor, points, embedding)

    def update(
        self, state: RecognitionState, generation: Generation, key: Key[Array, ""]
    ) -> RecognitionState:
        """Train xi1 on D, then forget D; see `NoveltyEstimator.update`."""
        (key_train,) = jax.random.split(key, 1)
        predictor, optimiser = self._train_predictor(state, generation, key_train)
        # After an overflow of Adam's state no weight would move: novelty is NaN, which ends a run.
        finite = jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(optimiser)]).all()
        predictor = jax.tree.map(lambda weight: jnp.where(finite, weight, jnp.nan), predictor)
        return state._replace(predictor=predictor, optimiser=optimiser)

    def _init_weights_and_count_outputs(
        self, d: int, depth: int, key: Key[Array, ""]
    ) -> tuple[PyTree, int]:
        """The weights of a new encoder, and the number of its outputs."""
        if self.encoder is None:
            e = 2 * d if self.embedding is None else self.embedding
            width = 3 * d if self.width is None else self.width
            return Encoder(d, e, width, depth, self.initialisation, key), e
        return init_weights_and_count_outputs(self.encoder, d, depth, key)

    def _build_network(self, weights: PyTree, number: int) -> Callable[..., Any]:
        """xi* (number 0) or xi1 (1) with these weights."""
        if self.encoder is None:
            return weights
        return build_encoder(self.encoder, weights, self.depths[number])

    @property
    def _adam(self) -> optax.GradientTransformation:
        # all weights as one vector: fewer, larger operations
        return optax.flatten(optax.adam(self.learning_rate))

    def _select_training_descriptors(
        self, generation: Generation
    ) -> tuple[Float[Array, "n d"], Bool[Array, " n"], int]:
        """D of Algorithm 1: the offspring, and in the first generation the founders, their parents.

        D is the rows present; others fill it up to a constant shape. The number is of a usual D.
        """
        if self.learn_from == "survivors":
            survivors = generation.survivors
            return survivors.descriptor, ~survivors.failed, len(survivors.id)
        # In the loop's order of scoring, so that the compiler shares that evaluation of xi*.
        everyone = concatenate_populations(generation.parents, generation.offspring)
        born = generation.offspring.born
        newborn = jnp.arange(len(everyone.id)) >= len(generation.parents.id)
        return everyone.descriptor, (newborn | (born[0] == 1)) & ~everyone.failed, len(born)

    def _train_predictor(
        self, state: RecognitionState, generation: Generation, key: Key[Array, ""]
    ) -> tuple[PyTree, optax.OptState]:
        """The weights after `epochs` passes over D, in batches of equal size."""
        descriptors, present, usual = self._select_training_descriptors(generation)
        points = _scale_inputs(state, descriptors)
        # so that xi* is never evaluated twice on one of them
        embedding = self._build_network(state.target, 0)(points)
        # Offspring are cut into as few batches as `batch` allows; founders make more of that size.
        rows = -(-usual // -(-usual // self.batch))
        total, count = len(points), jnp.sum(present)
        steps = (count + rows - 1) // rows
        # Those of fewer offspring, where some failed or only fill the shape, are equal too.
        fewer = (count + steps - 1) // jnp.maximum(steps, 1)
        size = jnp.where(count < usual, fewer, rows)

        def shuffle_present_rows() -> Int[Array, "epochs total"]:
            ranks = jnp.where(present, jax.random.uniform(key, (self.epochs, total)), 2.0)
            return jnp.argsort(ranks, axis=1)

        def list_present_rows_unshuffled() -> Int[Array, "epochs total"]:
            order = jnp.flatnonzero(present, size=total, fill_value=0)
            return jnp.broadcast_to(order, (self.epochs, total))

        def mean_error(predictor, order, weight):
            error = self._compute_error(predictor, points[order], embedding[order])
            return jnp.sum(weight * error) / jnp.sum(weight)

        # In a single batch order changes nothing, and drawing one is a fifth of the cost at d = 2.
        orders = jax.lax.cond(steps > 1, shuffle_present_rows, list_present_rows_unshuffled)
        orders = jnp.pad(orders, ((0, 0), (0, -total % rows)))

        def descend(i, carry):
            predictor, optimiser = carry
            start = (i % steps) * size
            order = jax.lax.dynamic_slice(orders, (i // steps, start), (1, rows))[0]
            weight = (jnp.arange(rows) < jnp.minimum(size, count - start)).astype(jnp.float32)
            gradient = jax.grad(mean_error)(predictor, order, weight)
            change, optimiser = self._adam.update(gradient, optimiser)
            return optax.apply_updates(predictor, change), optimiser

        begun = state.predictor, state.optimiser
        return jax.lax.fori_loop(0, self.epochs * steps, descend, begun)

    def _maximize_initial_error(
        self, state: RecognitionState, space: Box, key: Key[Array, ""]
    ) -> PyTree:
        """Gradient ascent on M over uniform behaviors, so that xi1 starts far from xi*."""
        adam = optax.adam(self.divergence_learning_rate)
        target = self._build_network(state.target, 0)

        def negative_mean_error(predictor, points):
            # which falls where M rises
            return -jnp.mean(self._compute_error(predictor, points, target(points)))

        def ascend(carry, key):
            predictor, optimiser = carry
            points = _scale_inputs(state, space.uniform(key, self.divergence_batch))
            gradient = jax.grad(negative_mean_error)(predictor, points)
            change, optimiser = adam.update(gradient, optimiser)
            return (optax.apply_updates(predictor, change), optimiser), None

        start = (state.predictor, adam.init(state.predictor))
        return jax.lax.scan(ascend, start, jax.random.split(key, self.divergence_steps))[0][0]

    def _compute_error(
        self, predictor: PyTree, points: Float[Array, "n i"], embedding: Float[Array, "n e"]
    ) -> Float[Array, " n"]:
        r"""$\mathcal{M} = \lVert \xi^*(b) - \xi_1(b) \rVert_2^2$ of points and their embeddings."""
        return jnp.sum((self._build_network(predictor, 1)(points) - embedding) ** 2, axis=-1)


def _scale_inputs(state: RecognitionState, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return (descriptors - state.center) / state.scale
