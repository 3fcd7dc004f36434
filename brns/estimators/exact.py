"""Exact recognition: behavior recognition whose last layer is solved over everything ever seen."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Generation, Population
from brns.core.population import concatenate_populations
from brns.estimators import cpu
from brns.estimators.encoder import WIDEST_LAYER, build_encoder, init_weights_and_count_outputs
from brns.estimators.features import (
    Cosines,
    Frame,
    check_and_find_ancestor,
    fit_frame_to_founders_once,
    frame_from_box,
    mask_not_learned,
    normalize_descriptors,
)

LARGEST = 1e4  # of |phi|^2 / lambda, so that a behavior seen once is known to 1e-4
DEPTH = 3  # what an encoder of one's own is told: the hidden layers of BR-NS's target


class ExactState(NamedTuple):
    """The state of exact recognition: a matrix of constant size, and no single behavior."""

    features: PyTree
    """phi, frozen: drawn in `init`; of an encoder of your own the weights alone"""
    frame: Frame
    root: Float[Array, "m m"]
    r"""R with $R^\top R = \lambda A^{-1}$: the identity where nothing was seen"""
    seen: Int[Array, ""]
    """how many behaviors were learned"""
    newest: Int[Array, ""]
    """the latest birth among them, by which the learned are known; -1 before the first update"""


class ExactRecognition(eqx.Module):
    r"""BR-NS solved in closed form: the predictive variance of Bayesian linear regression on frozen
    random Fourier features, given all behaviors seen.

    Novelty is the expected recognition error that remains:

    $M(b) = \lambda \, \phi(b)^\top A^{-1} \phi(b)$ with $A = \lambda I + \sum_s \phi(b_s)
    \phi(b_s)^\top$ over every behavior seen so far, and m frozen random features $\phi$.
    The state is m x m numbers, and a generation of n costs $O(n m (d + m))$, whatever was seen.

    The novelty of a fixed behavior never rises, up to rounding, unless `forgetting` is below 1;
    docs/method derives it and bounds the rounding. Each individual is learned once, at birth, and
    counts as seen already when it is scored.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, doi:10.1145/3449639.3459303,
    for novelty as recognition error.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`,
    from 0 to $|\phi|^2$.

    Raises:
        ValueError: for settings out of range.
    """

    size: Annotated[int, Ge(2), Le(WIDEST_LAYER), MultipleOf(2)] = 256
    """m, the number of features, in pairs of cosine and sine"""
    frequencies: tuple[float, float] = (0.125, 16.0)
    """lowest and highest frequency of the cosines, in radians over the scale"""
    regularization: Annotated[float, Ge(1 / LARGEST), Lt(math.inf)] = 1.0
    """lambda: the number of visits that halve the novelty of a behavior unlike all others"""
    forgetting: Annotated[float, Gt(0), Le(1)] = 1.0
    """the share of a visit that is left a generation later; below 1 visits fade, for tasks that
    change"""
    encoder: Callable[..., Any] | None = None
    """makes your own features, `encoder(key, depth)` as in `BehaviorRecognition`. It is frozen and
    sees the box as [-1, 1]^d; `size` and `frequencies` then have no effect"""

    def __check_init__(self):
        check_setting_types(self)
        low, high = self.frequencies
        rule = 0 < low <= high < math.inf, "0 < lowest <= highest"
        check_settings_obey_rules(self, frequencies=rule)

    def init(self, space: Box, key: Key[Array, ""]) -> ExactState:
        """Nothing seen: features drawn, the box as scale; see `NoveltyEstimator.init`.

        Raises:
            ValueError: where the features of an `encoder` are not finite, too large or of no shape
                `(n, m)`.
        """
        cpu.limit_blas_to_one_thread()
        d = space.dimension
        if self.encoder is None:
            features, m = Cosines(d, self.size, *self.frequencies, key), self.size
        else:
            features, m = init_weights_and_count_outputs(self.encoder, d, DEPTH, key)
            self._check_feature_norm(self.encoder, d)
        return ExactState(features, frame_from_box(space), jnp.eye(m), jnp.int32(0), jnp.int32(-1))

    def embed(self, state: ExactState, descriptors: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """phi(b), the space in which this novelty is measured; see `metrics.cycling.Embeds`."""
        if self.encoder is not None:
            return build_encoder(self.encoder, state.features, DEPTH)(
                normalize_descriptors(frame_from_box(state.frame.space), descriptors)
            )
        return state.features(normalize_descriptors(state.frame, descriptors), state.frame.wide)

    def score(
        self, state: ExactState, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """The novelty that remains; see `NoveltyEstimator.score`.

        It counts all that was learned, and whoever of the population is not learned yet.
        """
        state = state._replace(frame=fit_frame_to_founders_once(state.frame, population))
        rows, _ = self._project_features_and_mask_new(state, population)
        features = self.embed(state, descriptors) @ state.root.T
        return compute_posterior_variance(features, rows, self.regularization)

    def update(self, state: ExactState, generation: Generation, key: Key[Array, ""]) -> ExactState:
        """The offspring learned, and at first the founders; see `NoveltyEstimator.update`."""
        # In the order in which the loop scored them: the compiler does the work for both once.
        everyone = concatenate_populations(generation.parents, generation.offspring)
        if self.forgetting < 1:
            root = decay_inverse_root_toward_prior(state.root, self.forgetting)
            state = state._replace(root=root)
        state = state._replace(frame=fit_frame_to_founders_once(state.frame, everyone))
        rows, new = self._project_features_and_mask_new(state, everyone)
        return state._replace(
            root=update_inverse_root(state.root, rows, self.regularization),
            seen=state.seen + jnp.sum(new, dtype=jnp.int32),
            newest=jnp.max(generation.offspring.born),
        )

    def _project_features_and_mask_new(
        self, state: ExactState, population: Population
    ) -> tuple[Float[Array, "n m"], Bool[Array, " n"]]:
        r"""$R \phi$ of who is not learned yet, zeros for others; and who that is."""
        rows = self.embed(state, population.descriptor) @ state.root.T
        new = mask_not_learned(state.seen, state.newest, population)
        new &= jnp.all(jnp.isfinite(rows), axis=1)
        return jnp.where(new[:, None], rows, 0.0), new

    def start_empty_island(self, state: ExactState) -> ExactState:
        """Nothing seen, with `state`'s features and scale; see `VisitCounts.start_empty_island`."""
        return state._replace(root=jnp.eye(state.root.shape[0]), seen=jnp.int32(0))

    def merge(
        self, states: Sequence[ExactState], ancestor: ExactState | None = None
    ) -> tuple[ExactState, ...]:
        r"""What several searches have seen, $A = A_1 + A_2 + \dots$, summed in float64; see
        `VisitCounts.merge`. Without an `ancestor` states share $\lambda I$ alone.

        Raises:
            ValueError: where states differ in features, box or scale, or one has learned nothing;
                for `ancestor` with `forgetting` below 1.
        """
        if ancestor is not None and self.forgetting < 1:
            raise ValueError(
                "what states have in common fades with forgetting < 1; leave out `ancestor`"
            )
        common = check_and_find_ancestor(
            self, states, ancestor, lambda state: (state.features, state.frame, state.root.shape)
        )
        precision = _compute_precision_matrix(common)
        total = precision + sum(_compute_precision_matrix(state) - precision for state in states)
        value, vector = np.linalg.eigh(total)
        root = vector / np.sqrt(np.maximum(value, 1.0))  # nothing is less known than at the start
        root = jnp.asarray(root.T, jnp.float32)
        seen = jnp.int32(common.seen + sum(state.seen - common.seen for state in states))
        return tuple(state._replace(root=root, seen=seen) for state in states)

    def _check_feature_norm(self, encoder: Callable[..., Any], d: int) -> None:
        # One drawn and tried now, so that what is wrong is said before the run.
        with jax.ensure_compile_time_eval():
            points = jax.random.uniform(jax.random.key(0), (32, d), minval=-1.0)
            outputs = encoder(jax.random.key(0), DEPTH)(points)
            largest = float(jnp.max(jnp.sum(outputs**2, axis=1)))
        if not largest <= LARGEST * self.regularization:
            raise ValueError(
                f"an encoder's features must be finite in [-1, 1]^{d}, and |phi|^2 at most "
                f"{LARGEST:g} x regularization; got {largest:.3g}. Divide its outputs by their "
                "length"
            )


def _compute_precision_matrix(state: ExactState) -> np.ndarray:
    r"""$A / \lambda$ in float64."""
    inverse = np.linalg.inv(np.asarray(state.root, np.float64))
    return inverse @ inverse.T


def compute_posterior_variance(
    rows: Float[Array, "k m"], seen: Float[Array, "n m"], regularization: float
) -> Float[Array, " k"]:
    r"""What is left of novelty $|z|^2$, $z = R \phi$ of each row, once n more behaviors Z are seen
    (rows of zeros do not count): a sum of squares.

    It is $\lambda z^\top (\lambda I + Z^\top Z)^{-1} z = \lambda |C^{-\top} Q^\top z|^2 + |z - Q
    Q^\top z|^2$.
    """
    basis, triangle = _factorize_into_basis_and_triangle(seen, regularization)
    along = rows if basis is None else rows @ basis
    novelty = regularization * jnp.sum(cpu.solve_transposed(triangle, along.T) ** 2, axis=0)
    return novelty if basis is None else novelty + jnp.sum((rows - along @ basis.T) ** 2, axis=1)


def update_inverse_root(
    root: Float[Array, "m m"], projected_features: Float[Array, "n m"], regularization: float
) -> Float[Array, "m m"]:
    r"""R after n more behaviors $Z = \Phi R^\top$ (rows of zeros do not count), so that $R'^\top R'
    = \lambda (A + \Phi^\top \Phi)^{-1}$.

    $R' = R + Q (\sqrt{\lambda} C^{-\top} Q^\top R - Q^\top R)$.
    """
    basis, triangle = _factorize_into_basis_and_triangle(projected_features, regularization)
    along = root if basis is None else basis.T @ root
    shorter = math.sqrt(regularization) * cpu.solve_transposed(triangle, along)
    return shorter if basis is None else root + basis @ (shorter - along)


def _factorize_into_basis_and_triangle(
    seen: Float[Array, "n m"], regularization: float
) -> tuple[Float[Array, "m n"] | None, Float[Array, "k k"]]:
    r"""Orthonormal Q and upper triangular C:
    $\lambda I + Z^\top Z = Q C^\top C Q^\top + \lambda (I - Q Q^\top)$.

    None stands for the identity, where there are not far fewer behaviors than features. Both are
    found from Z itself, since float32 has no room for the condition of $Z^\top Z$.
    """
    n, m = seen.shape
    if 2 * n > m:
        return None, cpu.triangle(jnp.concatenate([math.sqrt(regularization) * jnp.eye(m), seen]))
    basis, inner = cpu.qr(seen.T)
    return basis, cpu.triangle(jnp.concatenate([math.sqrt(regularization) * jnp.eye(n), inner.T]))


def decay_inverse_root_toward_prior(
    root: Float[Array, "m m"], forgetting: float
) -> Float[Array, "m m"]:
    r"""R after a generation's fading, $A' = \gamma A + (1 - \gamma) \lambda I$, of which $\gamma$
    is left.

    $R' = C^{-\top} R$ with $C^\top C = \gamma I + (1 - \gamma) R R^\top$.
    """
    stacked = jnp.concatenate(
        [math.sqrt(forgetting) * jnp.eye(root.shape[0]), math.sqrt(1 - forgetting) * root.T]
    )
    return cpu.solve_transposed(cpu.triangle(stacked), root)
