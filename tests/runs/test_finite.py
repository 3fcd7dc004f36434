"""Whatever is not a number ends a run, is named, and leaves whole generations behind."""

import contextlib
from dataclasses import replace

import equinox as eqx
import numpy as np
import pytest
from searches import HOST
from small_tasks import HostIdentity

from brns import Record, run
from brns.checks.generations import check_not_all_failed_and_finite, check_state_not_nan
from brns.comparison.worlds import WidenedBehaviorSpace
from brns.core import Population
from brns.core.population import copy_to_host, make_initial_generation

SOUND = copy_to_host(Population.from_descriptors(np.zeros((4, 2)), born=3, first=20))


class Spoiled(HostIdentity):
    """HostIdentity, but that its descriptors are NaN in one call, for rows 2 and 5."""

    when: int = 4
    calls: list[int] = eqx.field(default_factory=list)

    def evaluate(self, genotypes, key):
        evaluation = super().evaluate(genotypes, key)
        self.calls.append(1)
        if len(self.calls) == self.when:
            evaluation.descriptor[[2, 5], 0] = np.nan
        return evaluation


def test_what_is_not_a_number_stops_the_run_and_names_the_individuals(tmp_path):
    """The fourth call is generation 3, whose offspring have ids 20 ... 25.
    Bad founders leave no run behind."""
    with pytest.raises(ValueError, match=r"task gave .* generation 3 \(first ids 22, 25\)"):
        run(replace(HOST, task=Spoiled()), 10, out=tmp_path / "run", checkpoint_every=1)
    record = Record(tmp_path / "run")
    assert record.generations == record.generations_with_states == [0, 1, 2]
    assert np.isfinite(record.column("survivors.descriptor")).all()
    with pytest.raises(ValueError, match=r"generation 0 \(first ids 2, 5\)"):
        run(replace(HOST, task=Spoiled(when=1)), 10, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_run_whose_behaviors_lie_far_from_the_box_says_so(tmp_path):
    with pytest.warns(UserWarning, match=r"over two widths of behavior_space .* a wider one"):
        run(replace(HOST, task=WidenedBehaviorSpace(HostIdentity(), 0.01)), 2, out=tmp_path / "run")


SOURCES = {"genotype": "mutation", "descriptor": "task", "fitness": "task", "novelty": "estimator"}


@pytest.mark.parametrize(("column", "source"), SOURCES.items())
def test_every_column_must_be_numbers(column, source):
    values = np.array(getattr(SOUND, column))
    values[2] = np.inf
    facts = make_initial_generation(SOUND)._replace(parents=SOUND)
    check_not_all_failed_and_finite(3, facts)
    for who in ("offspring", "parents"):
        wrong = facts._replace(**{who: SOUND._replace(**{column: values})})
        with pytest.raises(ValueError, match=rf"{source} gave a {column} .* 1 of 4 .*22\)"):
            check_not_all_failed_and_finite(3, wrong)
    failed = SOUND._replace(**{column: values}, failed=np.arange(4) == 2)
    refused = pytest.raises(ValueError, match="gave a genotype")
    with refused if column == "genotype" else contextlib.nullcontext():
        check_not_all_failed_and_finite(3, facts._replace(offspring=failed))


def test_a_state_may_be_infinite_but_holds_no_nan():
    check_state_not_nan(2, {"marks": np.array([np.inf, 0.0])})
    with pytest.raises(ValueError, match=r"state has 1 NaN after generation 2 \(in marks\)"):
        check_state_not_nan(2, {"marks": np.array([np.nan, 0.0])})
