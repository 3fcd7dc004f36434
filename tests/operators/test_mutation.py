"""Variation: against DEAP in distribution, and by laws."""

import random

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from deap.tools import mutPolynomialBounded
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, ks_2samp, kstest, norm

from brns.core import Box
from brns.operators.mutation import (
    Crossover,
    DifferentialEvolution,
    GaussianMutation,
    IsoLineDD,
    MixedMutation,
    PolynomialMutation,
    UniformResampling,
)

BOX = Box([-1.0, -2.0, 0.0], [1.0, 6.0, 0.5])
N = 6000
LOW, HIGH = np.asarray(BOX.low), np.asarray(BOX.high)
mutate = eqx.filter_jit(lambda operator, key, parents, box: operator(key, parents, box))


def mutants(operator, parent):
    """`N` mutants of one parent."""
    parents = jnp.asarray(np.tile(np.asarray(parent, np.float32), (N, 1)))
    return np.asarray(mutate(operator, jax.random.key(0), parents, BOX))


@pytest.mark.parametrize(("eta", "share"), [(0.5, 0.02), (10.0, 0.0), (10.0, 0.97), (10.0, 1.0)])
def test_polynomial_mutation_draws_from_the_distribution_of_deap(eta, share):
    parent = LOW + np.float32(share) * (HIGH - LOW)
    ours = mutants(PolynomialMutation(eta=eta, rate=1.0), parent)
    random.seed(1)
    bounds = LOW.tolist(), HIGH.tolist()
    theirs = [mutPolynomialBounded(parent.tolist(), eta, *bounds, 1.0)[0] for _ in range(N)]
    theirs = np.array(theirs)
    for gene in range(3):
        # On a bound half of all draws stay; rounding must not tell 6.0 from 5.9999995.
        a, b = (np.round((x[:, gene] - LOW[gene]) / (HIGH - LOW)[gene], 5) for x in (ours, theirs))
        assert ks_2samp(a, b).pvalue > 1e-3


def test_mutants_of_every_operator_stay_in_the_box_and_keep_their_shape():
    polynomial, gaussian = PolynomialMutation(eta=0.5, rate=0.7), GaussianMutation(0.5, rate=0.5)
    crossing = IsoLineDD(0.3, 0.9), Crossover(1, mutated=3.0), DifferentialEvolution(9.0)
    mixed = MixedMutation((polynomial, gaussian, *crossing))
    parents = BOX.uniform(jax.random.key(0), N).at[:100].set(BOX.low).at[100:200].set(BOX.high)
    moved = mutate(mixed, jax.random.key(1), parents, BOX)
    assert (moved.shape, moved.dtype) == (parents.shape, jnp.float32)
    assert ((moved >= BOX.low) & (moved <= BOX.high)).all()


@pytest.mark.parametrize(
    ("operator", "rate"),
    [
        (PolynomialMutation(rate=0.1), 0.1),
        (GaussianMutation(rate=0.1), 0.1),
        (Crossover(), 1 / 3),  # one of three genes on average
    ],
)
def test_each_gene_mutates_on_its_own_with_its_rate(operator, rate):
    """Parents that are alike differ from their offspring by mutation alone."""
    parent = (LOW + HIGH) / 2
    changed = mutants(operator, parent) != parent
    for count in changed.sum(0):
        assert binomtest(int(count), N, rate).pvalue > 1e-3
    both = int((changed[:, 0] & changed[:, 1]).sum())
    assert binomtest(both, N, rate**2).pvalue > 1e-3


def test_gaussian_steps_are_a_share_of_the_width():
    parent = (LOW + HIGH) / 2
    steps = (mutants(GaussianMutation(sigma=0.05, rate=1.0), parent) - parent) / (HIGH - LOW)
    assert all(kstest(gene / 0.05, "norm").pvalue > 1e-3 for gene in steps.T)


def test_iso_line_steps_vary_along_the_line_and_all_around():
    """Two parents, each the other's, in an unequal box: variances of s1^2 times the widths, and
    s2^2 |y - x|^2 along the line."""
    box, s1, s2 = Box([-100.0, -200.0], [100.0, 200.0]), 0.01, 0.2
    pair, apart = jnp.array([[-18.0, 24.0], [18.0, -24.0]]), np.array([36.0, -48.0])
    keys = jax.random.split(jax.random.key(0), N)
    moved = jax.jit(jax.vmap(lambda key: IsoLineDD(s1, s2)(key, pair, box)))(keys)
    steps = np.asarray(moved - pair).reshape(-1, 2)
    covariance = np.diag([(s1 * 200) ** 2, (s1 * 400) ** 2]) + s2**2 * np.outer(apart, apart)
    independent = np.linalg.solve(np.linalg.cholesky(covariance), steps.T)
    assert all(kstest(each, "norm").pvalue > 1e-3 for each in independent)
    assert abs(np.corrcoef(independent)[0, 1]) < 4 / np.sqrt(2 * N)


def test_differential_evolution_steps_from_another_parent_by_the_difference_of_two():
    """Of three parents the others of the first are at 100 and 102. Two of them drawn are the same
    half of the time, and then there is no step; else its deviation is F times 2."""
    box = Box([0.0], [1000.0])
    parents = jnp.array([[50.0], [100.0], [102.0]])
    keys = jax.random.split(jax.random.key(0), N)
    made = jax.jit(jax.vmap(lambda key: DifferentialEvolution(0.5, 0.0)(key, parents, box)))(keys)
    moved = np.asarray(made[:, 0, 0])
    still = np.isin(moved, [100.0, 102.0])
    assert binomtest(int(still.sum()), N, 0.5).pvalue > 1e-3
    assert binomtest(int((moved[still] == 100).sum()), int(still.sum()), 0.5).pvalue > 1e-3
    around = [norm(middle, 1.0).cdf(moved[~still]) for middle in (100, 102)]
    assert kstest(np.mean(around, axis=0), "uniform").pvalue > 1e-3


def test_differential_evolution_of_parents_that_are_alike_steps_by_a_share_of_the_width():
    parent = (LOW + HIGH) / 2
    moved = mutants(DifferentialEvolution(scale=0.5, least=0.1), parent)
    steps = (moved - parent) / (HIGH - LOW) / 0.05
    for gene in steps.T:
        assert kstest(gene[gene != 0], "norm").pvalue > 1e-3
    assert_allclose((steps != 0).mean(), (1 - 1 / 3) / np.log(3), rtol=0.03)  # E[3^-u]
    both = (steps[:, 0] != 0) & (steps[:, 1] != 0)
    assert_allclose(both.mean(), (1 - 1 / 9) / np.log(9), rtol=0.05)  # E[3^-2u]
    assert abs(np.corrcoef(steps[both, :2].T)[0, 1]) < 4 / np.sqrt(both.sum())


@pytest.mark.parametrize("points", [None, 1, 2])
def test_crossover_takes_each_gene_from_one_of_two_parents(points):
    """Row i is i everywhere. A cut lies before gene g with probability (g + 1) / (p + 1) = F; of
    two cuts one alone does with 2 F (1 - F)."""
    p, box = 7, Box([0.0] * 7, [1.0 * N] * 7)
    parents = jnp.tile(jnp.arange(N, dtype=jnp.float32)[:, None], p)
    crossed = np.asarray(mutate(Crossover(points, mutated=0.0), jax.random.key(0), parents, box))
    taken = crossed != np.asarray(parents)
    # of one other parent
    assert all(len(set(row[other])) <= 1 for row, other in zip(crossed, taken, strict=True))
    before = np.arange(1, p + 1) / (p + 1)
    chances = {None: np.full(p, 0.5), 1: before, 2: 2 * before * (1 - before)}[points]
    for count, chance in zip(taken.sum(axis=0), chances, strict=True):
        assert binomtest(int(count), N, chance).pvalue > 1e-3
    # in so many pieces
    assert points is None or (np.diff(taken, axis=1).sum(axis=1) <= points).all()
    alone = mutate(Crossover(mutated=0.0), jax.random.key(0), parents[:1], box)
    assert_array_equal(alone, parents[:1])


def test_a_rate_that_is_drawn_reaches_from_one_gene_to_all():
    """16 genes: E[16^-u] = (1 - 1/16) / ln 16 of them change, both of two E[16^-2u] of the time,
    and their steps are those of a fixed rate."""
    box = Box([-1e3] * 16, [1e3] * 16)
    parents = jnp.zeros((N, 16))
    steps, fixed = (
        np.asarray(jax.jit(PolynomialMutation(rate=rate))(jax.random.key(0), parents, box))
        for rate in (None, 0.5)
    )
    assert_allclose((steps != 0).mean(), (1 - 1 / 16) / np.log(16), rtol=0.03)
    both = (steps[:, ::2] != 0) & (steps[:, 1::2] != 0)
    assert_allclose(both.mean(), (1 - 1 / 256) / np.log(256), rtol=0.07)
    assert ks_2samp(steps[steps != 0][:N], fixed[fixed != 0][:N]).pvalue > 1e-3


def test_a_mixture_takes_each_operator_as_often_as_its_credit_says():
    """Copies and redraws: by themselves half and half;
    with credit 1 and 0 the redraws are half of `even`."""
    mixed = MixedMutation((GaussianMutation(rate=0.0), UniformResampling()), exploration=0.2)
    parents, vary = jnp.tile((BOX.low + BOX.high) / 2, (N, 1)), jax.jit(mixed.vary)
    for credit, redrawn in [(mixed.initial_credit(), 0.5), (jnp.array([1.0, 0.0]), 0.1)]:
        moved, operator, mate = vary(jax.random.key(0), credit, parents, BOX)
        assert (mate == -1).all()
        assert_array_equal(operator, (moved != parents).any(axis=1))
        assert binomtest(int(operator.sum()), N, redrawn).pvalue > 1e-3


@pytest.mark.parametrize(
    ("novelty", "expected"),
    [
        ([1.0, 3.0, 2.0, 0.0], [0.25, 0.75]),
        ([1.0, 3.0, 3.0, 0.0], [0.5, 0.5]),
        ([1.0, -np.inf, 2.0, -np.inf], [0.75, 0.25]),
        ([-np.inf] * 4, [0.5, 0.5]),
    ],
)
def test_credit_goes_to_the_most_novel_all_that_tie_and_nobody_that_failed(novelty, expected):
    mixed = MixedMutation((GaussianMutation(), UniformResampling()), credit_rate=0.5)
    operator = jnp.array([0, 1, 0, 1])
    after = mixed.update_credit(mixed.initial_credit(), operator, jnp.array(novelty))
    assert_allclose(after, expected)


def test_resampling_is_uniform_and_knows_no_parents():
    moved = mutants(UniformResampling(), BOX.low)
    assert_array_equal(moved, mutants(UniformResampling(), BOX.high))
    for gene in range(3):
        assert kstest(moved[:, gene], "uniform", (LOW[gene], HIGH[gene] - LOW[gene])).pvalue > 1e-3


@pytest.mark.parametrize(
    "operator", [IsoLineDD(), Crossover(), Crossover(points=2), DifferentialEvolution()]
)
def test_in_a_batch_of_one_there_is_no_second_parent(operator):
    recombine = jax.jit(operator.recombine)
    _, mate = recombine(jax.random.key(0), BOX.uniform(jax.random.key(1), 1), BOX)
    assert mate.tolist() == [-1]
