"""Individuals that a task cannot evaluate: neither learned nor selected,
and nothing of them is lost."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import bits
from numpy.testing import assert_array_equal
from searches import HOST
from small_tasks import Fragile, HostIdentity, Identity, altered

import brns
from brns.core import Population
from brns.core.failures import lower_failed_scores_to_least, replace_failed_survivors
from brns.core.population import concatenate_populations
from brns.metrics.elites import elites
from brns.metrics.measures import summarize_run
from brns.metrics.recorded import read_all_evaluated
from brns.operators.selection import Elitist, Generational
from brns.pictures import gather_curves, movie
from brns.pictures.report import page
from brns.search import derive_keys
from brns.tasks.chunked import Chunked

FRAGILE = replace(HOST, task=Chunked(Fragile(), failures=0.3), estimator=brns.VisitCounts(grids=8))


class Marking(Identity):
    """The task in JAX, which says that who has a last gene above 0.6 failed,
    and gives NaN for them."""

    def evaluate(self, genotypes, key):
        evaluation, failed = super().evaluate(genotypes, key), genotypes[:, 4] > 0.6
        nothing = jnp.where(failed, jnp.nan, 0.0)
        return evaluation._replace(
            descriptor=evaluation.descriptor + nothing[:, None],
            fitness=evaluation.fitness + nothing,
            failed=failed,
        )


@pytest.fixture(scope="module", params=["raises", "marks"])
def record(request, tmp_path_factory):
    fragile = FRAGILE if request.param == "raises" else replace(FRAGILE, task=Marking())
    out = tmp_path_factory.mktemp("failures") / "run"
    (record,) = brns.run(fragile, 12, out=out, checkpoint_every=4)
    return record


def test_who_fails_is_kept_with_genotype_key_and_reason(record):
    failures = record.failures
    assert {failure.id == -1 for failure in failures} == {True, False}
    assert all(failure.genotype[4] > 0.6 for failure in failures)
    if isinstance(record.search.task, Chunked):
        assert all("the floor has no friction" in failure.text for failure in failures)
    born = [failure for failure in failures if failure.id >= 0]
    assert record.column("offspring.failed").sum() == len(born)
    for failure in born:
        again = record.genotypes(np.array([failure.id]), np.array([failure.generation]))
        assert_array_equal(again[0], failure.genotype)
        _, key, _ = derive_keys(jax.random.key(record.seed), failure.generation)
        assert_array_equal(failure.key, jax.random.key_data(key))
        assert Marking().evaluate(jnp.asarray(failure.genotype[None]), key).failed[0]


def test_who_fails_is_neither_learned_nor_selected_and_counted(record):
    rows = (record.path / "progress.csv").read_text().splitlines()
    assert rows[0].endswith(",failed")
    assert int(rows[-1].split(",")[-1]) == summarize_run(record)["failed"] == len(record.failures)
    assert not record.column("survivors.failed").any()
    assert np.isfinite(record.column("survivors.descriptor")).all()
    failed = record.column("offspring.failed")
    for name in ("descriptor", "fitness", "novelty"):
        values = record.column(f"offspring.{name}")
        assert np.isnan(values[failed]).all()
        assert np.isfinite(values[~failed]).all()
    assert int(record.state(12).estimator.seen) == 8 + 12 * 6 - failed.sum()


def test_a_resume_and_a_fork_end_in_the_same_bits(record, tmp_path):
    brns.run(record.search, 5, out=tmp_path / "run", checkpoint_every=4)
    (resumed,) = brns.resume(tmp_path / "run", 12, search=record.search)
    assert bits(resumed) == bits(record)
    brns.fork(record, 8, record.search, out=tmp_path / "fork")
    (forked,) = brns.resume(tmp_path / "fork", search=record.search)
    assert len(bits(forked)) > 13
    assert bits(forked).items() <= bits(record).items()


class Sound(brns.UniformFounders):
    """Founders that can be evaluated."""

    def __call__(self, key, n, box):
        return super().__call__(key, n, box).at[:, 4].set(0.0)


@pytest.mark.slow
def test_a_run_that_stopped_at_an_individual_goes_on_without_it(tmp_path):
    stops = replace(FRAGILE, task=Chunked(Fragile()), founders=Sound())
    goes_on = replace(stops, task=FRAGILE.task)
    with pytest.raises(ZeroDivisionError) as caught:
        brns.run(stops, 12, out=tmp_path / "a")
    assert "failures=0.1" in "".join(caught.value.__notes__)
    (resumed,) = brns.resume(tmp_path / "a", search=goes_on)
    (whole,) = brns.run(goes_on, 12, out=tmp_path / "b")
    assert bits(resumed) == bits(whole)
    assert whole.failures


def losing(size):
    """A search that loses all of a batch of this size: of 8 the founders, of 6 the offspring."""
    lost = altered(lambda e, g, key: e._replace(failed=np.full(len(g), len(g) == size)))
    return replace(HOST, task=lost)


def test_founders_that_all_fail_leave_no_run(tmp_path):
    with pytest.raises(ValueError, match="8 founders failed, of a population of 8"):
        brns.run(losing(8), 2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_offspring_that_all_fail_end_the_run_after_what_was_saved(tmp_path):
    later = losing(6)
    with pytest.raises(ValueError, match="all 6 of generation 1 failed"):
        brns.run(later, 2, out=tmp_path / "run")
    assert brns.Record(tmp_path / "run", later).generations == [0]


@pytest.mark.parametrize("select", [Elitist(), Generational()])
def test_no_selection_keeps_who_failed_and_parents_fill_their_places(select):
    """Of four parents and four offspring, three of whom failed, four live on, whatever the rule."""
    observed = Population.from_descriptors
    union = concatenate_populations(observed(np.zeros((4, 2))), observed(np.zeros((4, 2)), 1, 4))
    union = union._replace(
        novelty=jnp.array([1.0, 3.0, 2.0, 4.0, 9.0, 9.0, 9.0, 0.5]),
        failed=jnp.array([False] * 4 + [True] * 3 + [False]),
    )
    lowered = lower_failed_scores_to_least(union._replace(fitness=union.novelty))
    assert lowered.novelty.tolist() == lowered.fitness.tolist() == [1, 3, 2, 4, 0.5, 0.5, 0.5, 0.5]
    rows = replace_failed_survivors(union, select(union, 4))
    assert not union.failed[rows].any()
    assert len(set(rows.tolist())) == 4
    if isinstance(select, Generational):
        assert sorted(rows.tolist()) == [1, 2, 3, 7]


class MarkingOnTheHost(Marking):
    traceable: bool = False


def test_a_task_that_says_who_failed_is_sound(capsys):
    brns.check_task(MarkingOnTheHost())
    said = capsys.readouterr().out
    assert re.search(r"solved, [1-7] failed$", said)
    assert "nan" not in said


@pytest.mark.slow
def test_evaluations_count_whom_the_task_was_asked_about():
    asked = []

    def fail(evaluation, genotypes, key):
        asked.append(len(genotypes))
        return evaluation._replace(failed=np.asarray(genotypes)[:, 0] > 0.5)

    (record,) = brns.run(replace(HOST, task=altered(fail)), 2)
    assert {failure.generation for failure in record.failures} >= {0}
    rows = (record.path / "progress.csv").read_text().splitlines()
    told = dict(zip(rows[0].split(","), rows[-1].split(","), strict=True))["evaluations"]
    assert summarize_run(record)["evaluations"] == int(told) == sum(asked)


def test_pictures_know_who_failed(record):
    """Ids are rows of all who were born; evaluations count those who failed."""
    everyone = read_all_evaluated(record, ("born", "descriptor", "fitness", "failed"))
    alive = np.flatnonzero(~everyone["failed"])
    for i in alive[[0, -1]]:
        (genotype,) = record.genotypes(np.array([i]), everyone["born"][[i]])
        assert_array_equal(movie.find_genotype_by_id_or_best(record, int(i)), genotype)
    best = movie.find_genotype_by_id_or_best(record, "best")
    fitness = record.search.task.evaluate(best[None], jax.random.key(0)).fitness[0]
    assert fitness == everyone["fitness"][alive].max() == elites(record, (1, 1)).fitness
    (series,) = gather_curves.CURVES["age"].gather([record]).series
    assert_array_equal(series.evaluations, record.to_dataframe()["evaluations"])
    sound = replace(record.search, task=HostIdentity())
    (other,) = brns.run(sound, 12, seed=1)
    rows = page.estimate_and_test_measures({"one": [record, other]})
    ((failed, _),) = rows["failed"]
    assert (failed.mean, failed.seeds) == (len(record.failures) / 2, 2)


def test_failures_of_a_generation_that_is_computed_again_without_any_are_none(tmp_path):
    """Such as of a fault of the task that was mended."""
    brns.run(HOST, 2, out=tmp_path / "run")
    (record,) = brns.records(tmp_path / "run", HOST)
    key = np.zeros((1, 2), np.uint32)
    failed = {"id": [9], "genotype": np.zeros((1, 5)), "key": key, "text": np.array(["a"])}
    for number in (2, 3):
        record.write("failed", number, failed)
    for generations in (2, 4):
        (record,) = brns.resume(record, generations, search=HOST)
        assert [failure.generation for failure in record.failures] == [2]
