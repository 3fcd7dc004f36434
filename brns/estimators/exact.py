"""Exact recognition: behavior recognition whose last layer is solved over everything ever seen."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from brns.core import Box, Generation, Population, unite
from brns.estimators import cpu
from brns.estimators.encoder import drawn, whole
from brns.estimators.features import Cosines, Frame, Rectified, declared, founded, in_box, in_frame, refuse_frequencies

HIDDEN = 64  # neurons of the random network's hidden layer
LARGEST = 1e4  # of |phi|^2 / lambda: beyond it float32 loses the lambda that A begins with, and novelty may rise
PART = 32  # behaviors that are always learned together
DEPTH = 3  # what an encoder of one's own is told: the hidden layers of BR-NS's target


class ExactState(NamedTuple):
    """What is remembered: a matrix of constant size. What is not: any single behavior."""

    features: PyTree
    """phi, frozen: drawn in `init`; of an encoder of your own the weights alone"""
    frame: Frame
    root: Float[Array, "m m"]
    r"""R with $R^\top R = \lambda A^{-1}$: the identity where nothing was seen"""
    seen: Int[Array, ""]
    """how many behaviors were learned"""
    newest: Int[Array, ""]
    """the latest generation of birth among them; -1 before the first update"""


class ExactRecognition(eqx.Module):
    r"""Novelty as the recognition error that remains after learning everything ever seen, in expectation.

    From BR-NS in five lines. Let $\phi(b)$ be m frozen random features of a behavior. Let the target be
    $\xi^*(b) = W \phi(b)$ with rows $W \sim N(0, I)$, told with noise of variance $\lambda$, and the predictor
    $\xi_1(b) = W_t \phi(b)$ the least squares solution over every behavior seen, $W_t$ shrunk to 0 by $\lambda$. Then

    $\mathcal{M}_t(b) = \mathbb{E} \lVert \xi^*(b) - \xi_1(b) \rVert^2 = \lambda \, \phi(b)^\top A_t^{-1} \phi(b)$
    for each embedding dimension, with $A_t = \lambda I + \sum_{s \le t} \phi(b_s) \phi(b_s)^\top$.

    No target is drawn, no gradient taken, no epoch counted, and no archive kept: the state is m x m numbers, and a
    generation of n costs $O(n m (d + m))$, whatever was seen. Where b was seen N times and nothing like it, novelty is
    $\lambda |\phi|^2 / (\lambda + N |\phi|^2)$; where nothing like it was seen $|\phi|^2$, which is 1 for cosines.

    **It never forgets.** $A_{t+1} \ge A_t$ as matrices, so the novelty of a fixed behavior never rises: Q(i, j) does
    not rise with j, eta <= 1 and kappa = 0 in every run, whatever the world. It holds up to rounding, by which novelty
    may be 1e-5 of itself higher than before, where $|\phi|^2 / \lambda$ is at most 10^4: a `prior` below 1e-4 and an
    encoder of larger features are refused; of `relu`, whose features grow with the distance from the founders, nothing
    is. A `memory` below 1 gives it up.

    Each individual is learned once, when it is born; the founders in the first update. Those of the population that are
    not learned yet count as seen all the same when it is scored: parents and offspring are held against the same past,
    and offspring that are alike against each other. Once they are learned, as in Q, nothing is counted twice.

    Descriptors count in units of the declared box, centred on the founders and divided by one number for all
    dimensions: three times the root mean variance of the founders, who are the oldest of the first population. So a box
    declared far too large costs nothing. Where the founders are all alike the box itself is the scale.

    The matrix is kept as a root of the inverse and changed by Andrews' formula, which can only shrink it: no novelty is
    negative. In float32 its relative error with 256 features was at most 6e-6 after 10^5 behaviors and 1.2e-4 after
    10^6, spread or all on one spot, and no novelty was above its lowest by more than 9e-6 of it
    (`benchmarks/exact.py precision`, on a CPU). The inverse itself, by Woodbury's formula, was off by 4e-2, and A
    summed up could not be factored. What is left of a hundred newcomers all on one spot, held against each other, is
    exact to 1e-4 with a prior of 1, to 5e-3 with 1e-2, and not at all with 1e-4.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, doi:10.1145/3449639.3459303, for novelty as recognition error. The
    variance of linear regression as exploration bonus: Abbasi-Yadkori, Pal & Szepesvari 2011; Henaff et al. 2022,
    arXiv:2210.05805. Random network distillation as posterior variance: Osband et al. 2018, arXiv:1806.03335. Root
    update: Andrews 1968, doi:10.2514/3.4666.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, from 0 to $|\phi|^2$.
    Errors: `ValueError` for settings out of their range, and for an `encoder` whose output is not finite or not
    `(n, m)`.
    """

    size: int = 256
    """m, the number of features; even for cosines"""
    features: Literal["cosines", "relu"] = "cosines"
    """phi: cosines of many wavelengths, or a random network with ReLU, which knows no scale and is smoother"""
    frequencies: tuple[float, float] = (0.125, 16.0)
    """lowest and highest frequency of the cosines, in radians over the scale"""
    prior: float = 1.0
    """lambda: how many visits halve the novelty of a behavior unlike all others"""
    memory: float = 1.0
    """what is left of a visit a generation later; below 1 old visits fade, for worlds that change"""
    encoder: Callable[..., Any] | None = None
    """makes features of your own, `encoder(key, depth)` as in `BehaviorRecognition`; frozen, it sees the box as
    [-1, 1]^d; `size`, `features` and `frequencies` play no part then"""

    def __check_init__(self):
        if self.size < 1 or (self.size % 2 and self.features == "cosines"):
            raise ValueError(
                f"ExactRecognition.size must be at least 1, and even for cosines, which come in pairs; got {self.size}"
            )
        if self.features not in ("cosines", "relu"):
            raise ValueError(f"ExactRecognition.features must be cosines or relu; got {self.features!r}")
        refuse_frequencies("ExactRecognition", self.frequencies)
        if not 1 / LARGEST <= self.prior < math.inf:
            raise ValueError(f"ExactRecognition.prior must be {1 / LARGEST:g} or more, and finite; got {self.prior}")
        if not 0 < self.memory <= 1:
            raise ValueError(f"ExactRecognition.memory must be above 0 and at most 1 (no fading); got {self.memory}")

    def init(self, space: Box, key: Key[Array, ""]) -> ExactState:
        """Nothing seen: features drawn, the box as scale."""
        cpu.one_blas_thread()
        d = space.dimension
        if self.encoder is not None:
            features, m = self._encode(d, key)
        elif self.features == "cosines":
            features, m = Cosines(d, self.size, *self.frequencies, key), self.size
        else:
            features, m = Rectified(d, self.size, HIDDEN, key), self.size
        return ExactState(features, declared(space), jnp.eye(m), jnp.int32(0), jnp.int32(-1))

    def embed(self, state: ExactState, descriptors: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """phi(b), the space in which this novelty is measured."""
        if self.encoder is not None:
            return whole(self.encoder, state.features, DEPTH)(in_box(state.frame.space, descriptors))
        return state.features(in_frame(state.frame, descriptors))

    def score(self, state: ExactState, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The novelty of descriptors, after all that was learned and whoever of the population is not learned yet."""
        state = self._placed(state, population)
        rows = self.embed(state, descriptors) @ state.root.T
        alive = self.embed(state, population.descriptor) @ state.root.T
        unlearned = (population.born > state.newest) & _finite(alive)
        return _remaining(rows, jnp.where(unlearned[:, None], alive, 0.0), self.prior)

    def update(self, state: ExactState, generation: Generation, key: Key[Array, ""]) -> ExactState:
        """The offspring learned, in the first update the founders with them."""
        if self.memory < 1:
            state = state._replace(root=_faded(state.root, self.memory))
        # In the order in which the loop scored them, so that the compiler shares that product.
        everyone, mu = unite(generation.parents, generation.offspring), generation.parents.id.shape[0]
        first = state.seen == 0
        state = self._placed(state, everyone)
        rows = self.embed(state, everyone.descriptor) @ state.root.T

        def begun(state: ExactState) -> ExactState:
            both, later = self._learned(state, rows), self._learned(state, rows[mu:])
            return jax.tree.map(lambda a, b: jnp.where(first, a, b), both, later)

        def followed(state: ExactState) -> ExactState:
            return self._learned(state, rows[mu:])

        return jax.lax.cond(_any(first), begun, followed, state)._replace(newest=jnp.max(generation.offspring.born))

    def _placed(self, state: ExactState, population: Population) -> ExactState:
        """The state with the spread of the founders, who are the oldest, as its scale, where it has none yet."""
        oldest = population.born == jnp.min(population.born, initial=jnp.iinfo(jnp.int32).max)
        founders = jnp.where(oldest[:, None], population.descriptor, jnp.nan)
        return state._replace(frame=founded(state.frame, founders))

    def island(self, state: ExactState) -> ExactState:
        """A state that has seen nothing, with the features and the scale of `state`: those of islands can be merged."""
        return state._replace(root=jnp.eye(state.root.shape[0]), seen=jnp.int32(0), newest=jnp.int32(-1))

    def _learned(self, state: ExactState, rows: Float[Array, "n m"]) -> ExactState:
        """The state with these behaviors, of which `rows` are R phi. Those that are not finite are left out."""
        present = _finite(rows)
        rows = jnp.where(present[:, None], rows, 0.0)
        return state._replace(root=shrunk(state.root, rows, self.prior), seen=state.seen + jnp.sum(present))

    def _encode(self, d: int, key: Key[Array, ""]) -> tuple[PyTree, int]:
        """The weights of the user's encoder, and the number of its outputs."""
        assert self.encoder is not None
        found = drawn(self.encoder, d, DEPTH, key)
        with jax.ensure_compile_time_eval():  # one drawn and tried now, so that what is wrong is said before the run
            points = jax.random.uniform(jax.random.key(0), (32, d), minval=-1.0)
            outputs = self.encoder(jax.random.key(0), DEPTH)(points)
            if not np.isfinite(outputs).all():
                raise ValueError(f"an encoder must give finite features for points of the box, here [-1, 1]^{d}")
            largest = float(jnp.max(jnp.sum(outputs**2, axis=1)))
            if largest > LARGEST * self.prior:
                raise ValueError(
                    f"an encoder's features must have |phi|^2 of at most {LARGEST:g} x prior, for float32 to be exact; "
                    f"got {largest:.3g} with prior={self.prior}. Divide its outputs by {math.sqrt(largest):.2g}, which "
                    "makes novelty 1 at most"
                )
        return found


def merge(estimator: ExactRecognition, states: Sequence[ExactState], since: ExactState | None = None) -> ExactState:
    r"""What several searches have seen, as one state: $A = A_1 + A_2 + \dots$, of which the common part counts once.

    The common part is $\lambda I$, or all that `since` holds: the state from which all of them went on. States share
    their features and their scale where they began from `estimator.island(state)` or from one another; their searches
    are taken to count the same generations. Computed in float64; order does not matter. Where all were seen by one
    search the state is the same, up to rounding.

    Errors: `ValueError` if there are no states, if they differ in features, box or scale, or if `since` is given and
    has faded since (`memory` below 1).
    """
    if not states:
        raise ValueError("merge needs at least one state; got none")
    if since is not None and estimator.memory < 1:
        raise ValueError(
            f"what states have in common fades with memory={estimator.memory}, and cannot be taken from them; "
            "merge with memory=1, or without `since` where they began apart"
        )
    everyone = [*states, *([] if since is None else [since])]
    for number, state in enumerate(everyone[1:], 2):
        if not eqx.tree_equal(_shared(everyone[0]), _shared(state)):
            raise ValueError(
                f"states can be merged that share features, box and scale; the first and number {number} do not. "
                "Let the others begin from estimator.island(state) of one that has had its first update"
            )
    common = np.eye(len(states[0].root)) if since is None else _precision(since)
    total = common + sum(_precision(state) - common for state in states)
    value, vector = np.linalg.eigh(total)
    root = vector / np.sqrt(np.maximum(value, 1.0))  # nothing is less known than at the start
    before = 0 if since is None else since.seen
    seen = before + sum(state.seen - before for state in states)
    newest = max(state.newest for state in everyone)
    return states[0]._replace(root=jnp.asarray(root.T, jnp.float32), seen=jnp.int32(seen), newest=jnp.int32(newest))


def _precision(state: ExactState) -> np.ndarray:
    r"""$A / \lambda$ in float64."""
    inverse = np.linalg.inv(np.asarray(state.root, np.float64))
    return inverse @ inverse.T


def _shared(state: ExactState) -> PyTree:
    return state.features, state.frame, state.root.shape


def shrunk(root: Float[Array, "m m"], rows: Float[Array, "n m"], prior: float) -> Float[Array, "m m"]:
    r"""R after n more behaviors, given $Z = \Phi R^\top$, so that $R'^\top R' = \lambda (A + \Phi^\top \Phi)^{-1}$.

    With $C C^\top = \lambda I + Z Z^\top$: $R' = T R$, $T = I - Z^\top (C + \sqrt{\lambda} I)^{-\top} C^{-1} Z$.
    Where they are more than features, or $\lambda$ is small, so one part after another, who follows as $Z T^\top$:
    a part no larger than m, and with $|Z|^2 / \lambda$ below 10^4, lets no novelty rise in float32 either.

    Source: Andrews 1968, a square root formulation of the Kalman covariance equations.
    """
    part = min(rows.shape[1], max(PART, round(LARGEST * prior)))
    while len(rows):
        seen, rows = rows[:part], rows[part:]
        factor = _factor(seen, prior)
        inner = cpu.solve(factor, jnp.eye(len(seen)))
        inner = cpu.solve_transposed(factor + math.sqrt(prior) * jnp.eye(len(seen)), inner)
        root = root - seen.T @ (inner @ (seen @ root))
        rows = rows - ((rows @ seen.T) @ inner.T) @ seen
    return root


def _remaining(rows: Float[Array, "k m"], seen: Float[Array, "n m"], prior: float) -> Float[Array, " k"]:
    r"""What is left of novelty $|z|^2$, $z = R \phi$, once n more behaviors Z are seen.

    It is $\lambda z^\top (\lambda I + Z^\top Z)^{-1} z = |z|^2 - z^\top Z^\top (\lambda I + Z Z^\top)^{-1} Z z$.
    """
    n, m = seen.shape
    if n > m:
        return prior * jnp.sum(cpu.solve(_factor(seen.T, prior), rows.T) ** 2, axis=0)
    known = cpu.solve(_factor(seen, prior), seen @ rows.T)
    return jnp.maximum(jnp.sum(rows**2, axis=1) - jnp.sum(known**2, axis=0), 0.0)


def _factor(rows: Float[Array, "n m"], prior: float) -> Float[Array, "n n"]:
    return cpu.cholesky(prior * jnp.eye(rows.shape[0]) + rows @ rows.T)


def _finite(rows: Float[Array, "n m"]) -> Bool[Array, " n"]:
    return jnp.all(jnp.isfinite(rows), axis=1)


def _faded(root: Float[Array, "m m"], memory: float) -> Float[Array, "m m"]:
    r"""R after a generation's fading, $A' = \gamma A + (1 - \gamma) \lambda I$.

    $R' = C^{-1} R$ with $C C^\top = \gamma I + (1 - \gamma) R R^\top$.
    """
    factor = cpu.cholesky(memory * jnp.eye(root.shape[0]) + (1 - memory) * (root @ root.T))
    return cpu.solve(factor, root)


@custom_vmap
def _any(one: Bool[Array, ""]) -> Bool[Array, ""]:
    """The truth itself; under `vmap` whether it holds for any, so that all seeds take one branch."""
    return one


@_any.def_vmap
def _(size, batched, one):
    return (jnp.any(one) if batched[0] else one), False
