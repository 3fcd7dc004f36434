"""Variation operators: genotypes in, mutants of the same shape out, always inside the box."""

import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from annotated_types import Ge, Gt, Le, Lt
from jaxtyping import Array, Float, Int, Key
from pydantic import PositiveInt

from brns.checks.generations import check_and_split_mutants_and_mates
from brns.checks.parts import check_part, check_setting_types, check_settings_obey_rules
from brns.core import Box, Mutation, Recombination
from brns.core.evaluation import check_shape
from brns.settings.differences import short_repr

Share = Annotated[float, Ge(0), Le(1)]
PositiveShare = Annotated[float, Gt(0), Le(1)]
FromZero = Annotated[float, Ge(0), Lt(math.inf)]


class PolynomialMutation(eqx.Module):
    r"""Bounded polynomial mutation.

    With $u \sim U(0, 1)$, $\delta_1 = (x - low) / (high - low)$ and
    $\delta_2 = (high - x) / (high - low)$ a gene moves by $\delta_q (high - low)$, where

    $\delta_q = (2u + (1 - 2u)(1 - \delta_1)^{\eta + 1})^{1/(\eta + 1)} - 1$ for $u < 1/2$ and
    $\delta_q = 1 - (2(1 - u) + 2(u - 1/2)(1 - \delta_2)^{\eta + 1})^{1/(\eta + 1)}$ otherwise.

    Source: Deb, Pratap, Agarwal & Meyarivan 2002;
    agrees in distribution with DEAP's `mutPolynomialBounded`.
    Shapes: genotypes `(n, p)` inside `box`. A gene on a bound can still move inwards.
    """

    eta: FromZero = 10.0
    """crowding degree: the larger, the closer a mutant stays to its parent; published code"""
    rate: Share | None = 0.1
    """probability that a gene mutates; published code. None draws one for each offspring,
    log-uniform from one gene of p to all"""

    __check_init__ = check_setting_types

    def __call__(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> Float[Array, "n p"]:
        """A mutant of each genotype; see `brns.core.Mutation`."""
        key_which, key_move, key_rate = jax.random.split(key, 3)
        rate = self.rate
        if rate is None:
            n, p = genotypes.shape
            rate = p ** -jax.random.uniform(key_rate, (n, 1))
        width, power = box.high - box.low, self.eta + 1.0
        delta_1, delta_2 = (genotypes - box.low) / width, (box.high - genotypes) / width
        u = jax.random.uniform(key_move, genotypes.shape)
        down = (2 * u + (1 - 2 * u) * (1 - delta_1) ** power) ** (1 / power) - 1
        up = 1 - (2 * (1 - u) + 2 * (u - 0.5) * (1 - delta_2) ** power) ** (1 / power)
        moved = jnp.clip(genotypes + jnp.where(u < 0.5, down, up) * width, box.low, box.high)
        return jnp.where(jax.random.bernoulli(key_which, rate, genotypes.shape), moved, genotypes)


class GaussianMutation(eqx.Module):
    r"""$x + \sigma (high - low) \mathcal{N}(0, 1)$ on each gene with probability `rate`,
    clipped to the box.
    """

    sigma: Annotated[float, Gt(0), Lt(math.inf)] = 0.05
    """standard deviation as a share of the box's width"""
    rate: Share = 0.1
    """probability that a gene mutates"""

    __check_init__ = check_setting_types

    def __call__(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> Float[Array, "n p"]:
        """A mutant of each genotype; see `brns.core.Mutation`."""
        key_which, key_move = jax.random.split(key)
        step = self.sigma * (box.high - box.low) * jax.random.normal(key_move, genotypes.shape)
        moved = jnp.clip(genotypes + step, box.low, box.high)
        mutates = jax.random.bernoulli(key_which, self.rate, genotypes.shape)
        return jnp.where(mutates, moved, genotypes)


def _mutate_by_recombining(
    self: Recombination, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
) -> Float[Array, "n p"]:
    """A mutant of each genotype; see `brns.core.Mutation`."""
    return self.recombine(key, genotypes, box)[0]


class IsoLineDD(eqx.Module):
    r"""Gaussian steps in all directions, and along the line to another parent:
    $x + \sigma_1 w z + \sigma_2 (y - x) \zeta$.

    $y$ is another genotype of the batch, drawn uniformly, $w$ the box's width,
    $z \sim \mathcal{N}(0, I)$ and $\zeta \sim \mathcal{N}(0, 1)$, one number for all genes. What
    leaves the box is put on its border. A batch of one has no line.

    Source: Vassiliades & Mouret, GECCO 2018, doi:10.1145/3205455.3205602;
    there both are elites of an archive.
    """

    sigma_iso: FromZero = 0.01
    """standard deviation of the isotropic step, as a share of the box's width; Vassiliades &
    Mouret, where the width is 1"""
    sigma_line: FromZero = 0.2
    """standard deviation along the line, as a share of the distance to the other parent;
    Vassiliades & Mouret"""

    def __check_init__(self):
        check_setting_types(self)
        moves = self.sigma_iso + self.sigma_line > 0
        check_settings_obey_rules(self, sigma_iso=(moves, "above 0 where sigma_line is 0"))

    __call__ = _mutate_by_recombining

    def recombine(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> tuple[Float[Array, "n p"], Int[Array, " n"]]:
        """Mutants and the rows of their second parents; see `brns.core.Recombination`."""
        key_other, key_iso, key_line = jax.random.split(key, 3)
        n = len(genotypes)
        mate = draw_partners(key_other, n)
        iso = self.sigma_iso * (box.high - box.low) * jax.random.normal(key_iso, genotypes.shape)
        line = self.sigma_line * (genotypes[mate] - genotypes) * jax.random.normal(key_line, (n, 1))
        return jnp.clip(genotypes + iso + line, box.low, box.high), mate


class Crossover(eqx.Module):
    r"""Crossover of two parents, each gene from one of them, then polynomial mutation of one gene
    on average.

    Uniform: from either parent with a probability of 1/2. With `points`, genes are cut at so many
    places, each drawn from the p + 1 between and around them, and every second piece is the other
    parent's: neighbours in the genotype mostly stay together. The other parent is another genotype
    of the batch, drawn uniformly; a batch of one has none.

    Without new values of genes a population that crosses grows alike,
    and what it lost it does not find again.

    Source: uniform, Syswerda 1989; with points, De Jong 1975; both keep two offspring of a pair,
    here it is one.
    """

    points: PositiveInt | None = None
    """number of crossover points; None is uniform crossover, which ignores the order of genes"""
    mutated: FromZero = 1.0
    """number of genes that mutate afterwards, on average"""

    __check_init__ = check_setting_types
    __call__ = _mutate_by_recombining

    def recombine(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> tuple[Float[Array, "n p"], Int[Array, " n"]]:
        """Mutants and the rows of their second parents; see `brns.core.Recombination`."""
        key_other, key_which, key_mutate = jax.random.split(key, 3)
        n, p = genotypes.shape
        if self.points is None:
            taken = jax.random.bernoulli(key_which, shape=(n, p))
        else:
            cuts = jax.random.randint(key_which, (n, self.points, 1), 0, p + 1)
            taken = jnp.sum(jnp.arange(p) >= cuts, axis=1) % 2 == 1
        mate = draw_partners(key_other, n)
        crossed = jnp.where(taken, genotypes[mate], genotypes)
        mutate = PolynomialMutation(rate=min(self.mutated / p, 1.0))
        return mutate(key_mutate, crossed, box), mate


class DifferentialEvolution(eqx.Module):
    r"""The variation of differential evolution, with steps scaled by the differences of parents:
    $y_j + F \zeta_j (|z_j - w_j| + \delta (high_j - low_j))$ in place of $x_j$, with probability
    CR.

    $y$, $z$ and $w$ are other genotypes of the batch, drawn uniformly, two of them sometimes the
    same, and $\zeta_j \sim \mathcal{N}(0, 1)$ for each gene. CR is drawn for each offspring, evenly
    on a logarithmic axis from one gene of p to all. What leaves the box is put on its border. Steps
    do not grow with the box, but for $\delta$, with which a population begins whose genes are all
    alike. Batches of one or two, where $z = w$, have no other steps: let `offspring_size` be 10 or
    more.

    Source: DE/rand/1/bin, Storn & Price 1997, doi:10.1023/A:1008202821328. There F and CR are the
    same for all genes and offspring, $\delta$ is 0 and $\zeta_j$ is 1, the four parents differ, and
    one gene at least is replaced.
    """

    scale: Annotated[float, Gt(0), Lt(math.inf)] = 0.5
    """F, the standard deviation of a step as a share of the difference"""
    least: Share = 1e-5
    """delta, what is added to each difference, as a share of the box's width"""

    __check_init__ = check_setting_types
    __call__ = _mutate_by_recombining

    def recombine(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> tuple[Float[Array, "n p"], Int[Array, " n"]]:
        """Mutants and the rows of their second parents y; see `brns.core.Recombination`."""
        key_rate, key_which, key_step, *keys = jax.random.split(key, 6)
        n, p = genotypes.shape
        mate, z, w = (draw_partners(each, n) for each in keys)
        difference = jnp.abs(genotypes[z] - genotypes[w]) + self.least * (box.high - box.low)
        step = self.scale * difference * jax.random.normal(key_step, (n, p))
        moved = jnp.clip(genotypes[mate] + step, box.low, box.high)
        rate = p ** -jax.random.uniform(key_rate, (n, 1))
        taken = jax.random.bernoulli(key_which, rate, (n, p))
        return jnp.where(taken, moved, genotypes), mate


def draw_partners(key: Key[Array, ""], n: int) -> Int[Array, " n"]:
    """For each row of a batch of n another one, drawn uniformly; -1, itself, in a batch of one."""
    further = jax.random.randint(key, (n,), 1, max(n, 2))
    return (jnp.arange(n) + further) % n if n > 1 else jnp.full(1, -1)


class MixedMutation(eqx.Module):
    r"""Adaptive operator selection among several operators, crossover included: those with more of
    the most novel offspring are drawn more often.

    Operator k of K is drawn with probability $\epsilon / K + (1 - \epsilon) c_k$. Credit $c$ begins
    even and follows the operators' shares $s$ of the most novel tenth of a generation's offspring:
    $c \leftarrow c + \alpha (s - c)$ after each generation. Outside of a search, where nobody gives
    credit, operators are drawn evenly.

    Source: probability matching, Goldberg 1990; credit for what is extreme, not for what is good on
    average: Fialho, Da Costa, Schoenauer & Sebag 2008, doi:10.1007/978-3-540-87700-4_18.
    """

    operators: tuple[Mutation, ...] = (
        PolynomialMutation(),
        IsoLineDD(),
        PolynomialMutation(rate=None),
        IsoLineDD(sigma_iso=0.0, sigma_line=0.5),
        DifferentialEvolution(),
        Crossover(mutated=0.0),
        Crossover(points=2, mutated=0.0),
    )
    """the operators; results/worlds/README.md has others that were tried"""
    exploration: PositiveShare = 0.2
    """epsilon, the share of offspring whose operator is drawn uniformly; with 1 credit has no
    effect"""
    credit_rate: Share = 0.1
    """alpha, the weight of the last generation in the credit"""
    rewarded: PositiveShare = 0.1
    """the share of a generation's offspring, the most novel, whose operators get credit"""

    def __check_init__(self):
        check_setting_types(self)
        several = isinstance(self.operators, tuple | list) and 1 <= len(self.operators) <= 127
        check_settings_obey_rules(
            self, operators=(several, "a tuple of 1 to 127 mutation operators")
        )
        for each in self.operators:
            check_part("MixedMutation.operators", each, Mutation)
            if isinstance(each, MixedMutation):
                raise ValueError(
                    f"a mixture holds no other mixture: list its operators; got {self}"
                )

    def __call__(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> Float[Array, "n p"]:
        """A mutant of each genotype; see `brns.core.Mutation`."""
        return self.vary(key, self.initial_credit(), genotypes, box)[0]

    @property
    def descriptions(self) -> tuple[str, ...]:
        """What each operator is, such as `Crossover(points=2)`."""
        return tuple(short_repr(operator) for operator in self.operators)

    def initial_credit(self) -> Float[Array, " k"]:
        """The credit of each operator before anything was born.

        Returns:
            The same for all, `(k,)`; their sum is 1.
        """
        k = len(self.operators)
        return jnp.full(k, 1 / k, jnp.float32)

    def vary(
        self,
        key: Key[Array, ""],
        credit: Float[Array, " k"],
        genotypes: Float[Array, "n p"],
        box: Box,
    ) -> tuple[Float[Array, "n p"], Int[Array, " n"], Int[Array, " n"]]:
        """Vary genotypes by operators that are drawn by their credit.

        Args:
            key: all chance comes from it.
            credit: of each operator, `(k,)`.
            genotypes: the parents', `(n, p)`, inside the box.
            box: the genotype space.

        Returns:
            A mutant of each genotype, the number of the operator that made it, and the row of its
            second parent, -1 where it has none.

        Raises:
            ValueError: where an operator gives mutants of another shape.
        """
        n, k = len(genotypes), len(self.operators)
        draw, *keys = jax.random.split(key, k + 1) if k > 1 else (key, key)
        mutants, mates = [], []
        for mutate, subkey in zip(self.operators, keys, strict=True):
            if isinstance(mutate, Recombination):
                result = mutate.recombine(subkey, genotypes, box)
                mutant, mate = check_and_split_mutants_and_mates(mutate, result, n)
            else:
                mutant, mate = mutate(subkey, genotypes, box), jnp.full(n, -1)
            check_shape("mutate", mutate, mutant, genotypes.shape)
            mutants.append(mutant)
            mates.append(mate)
        if k == 1:
            return mutants[0], jnp.zeros(n, jnp.int32), mates[0]
        chances = self.exploration / k + (1 - self.exploration) * credit
        operator = jax.random.choice(draw, k, (n,), p=chances)
        rows = operator, jnp.arange(n)
        return jnp.stack(mutants)[rows], operator, jnp.stack(mates)[rows]

    def update_credit(
        self, credit: Float[Array, " k"], operator: Int[Array, " n"], novelty: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The credit after a generation.

        Args:
            credit: before it, `(k,)`.
            operator: the number of the operator that made each offspring.
            novelty: of each offspring, minus infinity where it failed.

        Returns:
            The credit of each operator, `(k,)`; as before where all offspring failed.
        """
        most_novel, _ = jax.lax.top_k(novelty, math.ceil(self.rewarded * len(novelty)))
        rewarded = (novelty >= most_novel[-1]) & (novelty > -jnp.inf)
        number = jnp.sum(rewarded)
        weights = rewarded.astype(jnp.float32)
        counts = jnp.bincount(operator, weights=weights, length=len(self.operators))
        after = credit + self.credit_rate * (counts / jnp.maximum(number, 1) - credit)
        return jnp.where(number > 0, after, credit)


class UniformResampling(eqx.Module):
    """Random search: genotypes drawn uniformly from the box, independently of the parents."""

    def __call__(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> Float[Array, "n p"]:
        """A mutant of each genotype; see `brns.core.Mutation`."""
        return box.uniform(key, genotypes.shape[0])
