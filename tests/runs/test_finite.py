"""Whatever is not a number ends a run, is named, and leaves whole generations behind."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from searches import SETTINGS, search
from worlds import HostIdentity, Identity

from brns import NoveltySearch, Record, VisitCounts
from brns.core import Evaluation
from brns.runs.loop import resume, run

pytestmark = pytest.mark.usefixtures("users_compiler")


class Spoiled(HostIdentity):
    """Identity, but that its descriptors are NaN in the fourth call, for rows 2 and 5."""

    calls: list[int] = eqx.field(default_factory=list)

    def evaluate(self, genotypes, key):
        evaluation = super().evaluate(genotypes, key)
        self.calls.append(1)
        if len(self.calls) == 4:
            evaluation.descriptor[[2, 5], 0] = np.nan
        return evaluation


def test_what_is_not_a_number_stops_the_run_and_names_the_individuals(tmp_path):
    """The fourth call is generation 3, whose offspring have ids 20 ... 25."""
    with pytest.raises(ValueError, match=r"Spoiled gave a descriptor .* 2 of 6 .* generation 3 \(first ids 22, 25\)"):
        run(search(Spoiled(), VisitCounts(grids=8)), 10, out=tmp_path, checkpoint_every=1)
    record = Record(tmp_path)
    assert record.generations == record.snapshots == [0, 1, 2]
    assert np.isfinite(record.column("survivors.descriptor")).all()


def nowhere(key, genotypes, box):
    """A mutation that makes the genes of the first mutant NaN, which `Blind` does not see."""
    return genotypes.at[0].set(jnp.nan)


class Blind(Identity):
    def evaluate(self, genotypes, key):
        return super().evaluate(jnp.nan_to_num(genotypes), key)


def test_genotypes_must_be_numbers_too(tmp_path):
    with pytest.raises(
        ValueError, match=r"nowhere gave a genotype .* 1 of 6 individuals of generation 1 \(first ids 8\)"
    ):
        run(search(Blind(), VisitCounts(grids=8), mutate=nowhere), 3, out=tmp_path)
    assert Record(tmp_path).generations == [0]


class Grows(eqx.Module):
    """Its state is a number that doubles in each generation, and marks that are infinite or finite at will."""

    first: float
    marks: tuple[float, ...] = (np.inf, 0.0)

    def init(self, space, key):
        return {"size": jnp.float32(self.first), "marks": jnp.asarray(self.marks)}

    def score(self, state, descriptors, population):
        return jnp.ones(len(descriptors))

    def update(self, state, generation, key):
        return {"size": 2 * state["size"], "marks": state["marks"][::-1]}


def test_a_state_that_is_no_longer_finite_is_not_saved(tmp_path):
    """2e38 is finite in 32 bits and 4e38 is not; an infinite mark is, where there was one from the start."""
    with pytest.raises(ValueError, match=r"Grows has 1 numbers in its state .* after generation 2 \(in size\)"):
        run(NoveltySearch(Identity(), Grows(1e38), **SETTINGS), 5, out=tmp_path / "run", checkpoint_every=1)
    record = Record(tmp_path / "run", NoveltySearch(Identity(), Grows(1e38), **SETTINGS))
    assert record.generations == record.snapshots == [0, 1]
    assert float(record.state(1).estimator["size"]) == np.float32(2e38)
    with pytest.raises(ValueError, match=r"Grows has 1 numbers .* after generation 0 \(in marks\)"):
        run(NoveltySearch(Identity(), Grows(0.0, (np.nan,)), **SETTINGS), 1, out=tmp_path / "nan")
    with pytest.raises(ValueError, match=r"after generation 2 \(in size\)"):
        resume(tmp_path / "run", search=NoveltySearch(Identity(), Grows(1e38), **SETTINGS))


class Infinite(Identity):
    def evaluate(self, genotypes, key):
        return Evaluation(*super().evaluate(genotypes, key))._replace(fitness=jnp.full(len(genotypes), jnp.inf))


def test_founders_that_are_not_finite_leave_no_run_behind(tmp_path):
    with pytest.raises(ValueError, match=r"Infinite gave a fitness .* 8 of 8 .* generation 0 \(first ids 0, 1"):
        run(search(Infinite(), VisitCounts(grids=8)), 10, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class ForgetsParents(eqx.Module):
    """A novelty of 1 for offspring and of NaN for parents."""

    def init(self, space, key):
        return jnp.zeros(0)

    def score(self, state, descriptors, population):
        return jnp.where(population.born < population.born.max(), jnp.nan, 1.0)

    def update(self, state, generation, key):
        return state


def test_novelty_of_parents_must_be_a_number_too(tmp_path):
    with pytest.raises(ValueError, match=r"ForgetsParents gave a novelty .* 8 of 8 .* generation 1 \(first ids 0"):
        run(NoveltySearch(Identity(), ForgetsParents(), **SETTINGS), 3, out=tmp_path)
    assert Record(tmp_path).generations == [0]
