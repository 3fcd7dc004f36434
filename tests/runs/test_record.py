"""A run on disk: what is written, and what a record reads from it."""

import json
import shutil
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import HOST, search

import brns
from brns import Record, RecordError, records
from brns.metrics import coverage
from brns.runs import states
from brns.runs.rows import Row
from brns.runs.store import Store

SEARCH = search()


def test_the_facts_of_a_run_are_plain_json(whole):
    facts = json.loads((whole / "run.json").read_text())
    expected = {"format": 13, "seed": 7, "seeds": [7], "generations": 10, "checkpoint_every": 3}
    assert {name: facts[name] for name in expected} == expected
    assert facts["experiment"]["population_size"] == 8
    assert facts["experiment"]["mutate"] == {"name": "PolynomialMutation", "eta": 2.0, "rate": 0.5}
    assert facts["experiment"]["estimator"]["depths"] == [0, 1]
    assert facts["experiment"]["task"]["name"] == "Identity"
    assert {"brns", "jax", "jaxlib", "numpy", "python"} <= set(facts["versions"])


def test_numpy_alone_reads_a_generation(whole):
    each = ["descriptor", "fitness", "solved", "novelty", "id"]
    each += ["parent", "mate", "operator", "born", "failed"]
    with np.load(whole / "generations" / "000003.npz", allow_pickle=False) as arrays:
        kinds = {name: (arrays[name].shape, arrays[name].dtype.names) for name in arrays.files}
        found = {name: (shape, [*(names or ())]) for name, (shape, names) in kinds.items()}
        assert_array_equal(arrays["offspring"]["id"], 8 + 2 * 6 + np.arange(6))
        assert arrays["survivors"]["descriptor"].shape == (8, 2)
    assert found == {
        "seal": ((), []),
        "offspring.genotype": ((3, 5), []),
        "stored": ((6,), []),
        "digest": ((8,), []),
        "fingerprint": ((6,), []),
        "failed": ((), []),
        "credit": ((1,), []),
        "offspring": ((6,), each),
        "survivors": ((8,), each),
        "parents": ((8,), ["id", "novelty"]),
    }
    with np.load(whole / "states" / "000003.npz", allow_pickle=False) as arrays:
        assert {"center", "seal"} < {*arrays.files}


def test_columns_are_stacked_over_generations(whole, unchecked):
    record = Record(whole, SEARCH)
    assert record.generations == list(range(11))
    assert record.generations_with_states == [0, 3, 6, 9, 10]  # those of the stride, and the last
    assert record.column("survivors.descriptor").shape == (11, 8, 2)
    assert record.column("offspring.genotype").shape == (10, 6, 5)
    assert record.column("parents.novelty").shape == (10, 8)
    assert_array_equal(record.column("parents.id"), record.column("survivors.id")[:-1])
    assert_array_equal(record.column("offspring.id", [4, 2])[:, 0], [8 + 3 * 6, 8 + 1 * 6])
    with pytest.raises(RecordError, match=r"no column .*; it has .*survivors.descriptor"):
        record.column("survivors.genotype")
    with pytest.raises(RecordError, match=r"no generation to read offspring.novelty of"):
        record.column("offspring.novelty", [])
    with pytest.raises(ValueError, match=r"must be a list, such as \[3\]"):
        record.column("offspring.novelty", 3)
    for ask in (record.population, record.ancestors):
        with pytest.raises(ValueError, match=r"must be a whole number from 0 on; got 1\.5"):
            ask(1.5)


@pytest.mark.parametrize("order", [[0, 3, 3, 6, 9, 10], [9, 0, 6]])
def test_a_state_is_restored_from_the_one_that_was_read_before(tmp_path, order, monkeypatch):
    counting = replace(HOST, estimator=brns.VisitCounts(grids=8))
    (record,) = brns.run(counting, 10, out=tmp_path / "run", checkpoint_every=3)
    read, learned = [], states._read_valid_offspring
    monkeypatch.setattr(
        states, "_read_valid_offspring", lambda *which: read.append(which) or learned(*which)
    )
    for number in order:
        again = Record(record, counting)
        jax.tree.map(assert_array_equal, record.state(number), again.state(number))
    assert not record.arrays("states", 9)["visits"].size
    if order == sorted(order):
        assert [g for which, g in read if which is record] == list(range(11))


def test_a_run_in_progress_has_the_generations_of_its_opening(tmp_path, monkeypatch):
    steps = brns.generations(HOST, 3, out=tmp_path / "run", progress=False)
    next(steps)
    record = Record(tmp_path / "run")
    (now,) = record.generations
    assert [saved.record.last_generation for saved in steps] == [1, 2, 3]
    assert record.generations == record.generations_with_states == [now]
    assert Record(tmp_path / "run").generations_with_states == [0, 3]
    # Another process ends its work after the record was opened.
    monkeypatch.setattr(Store, "is_running", lambda self: True)
    again = brns.generations(HOST, 5, out=tmp_path / "run", exist="resume", progress=False)
    assert [saved.record.last_generation for saved in again] == [4, 5]
    assert Record(tmp_path / "run").generations_with_states == [0]  # others may be gone soon


def test_generations_that_are_missing_are_told_with_what_to_do(whole, tmp_path):
    run = shutil.copytree(whole, tmp_path / "run")
    (run / "generations/000010.npz").unlink()
    with pytest.raises(RecordError, match=r"000010.npz cannot be read .*: put back a copy, or"):
        brns.resume(run, 11, search=SEARCH)
    for names, missing in {"*/000003.npz": "3, it has 0, 1 ... 9", "generations/*": "0"}.items():
        for file in run.glob(names):
            file.unlink()
        with pytest.raises(RecordError, match=f"lacks generations {missing}"):
            _ = Record(run).last_generation


def test_genotypes_are_found_where_they_were_born(whole):
    record = Record(whole)
    for mine, its in zip(record.population(), record.state(10, SEARCH).population, strict=True):
        assert_array_equal(mine, its)
    with pytest.raises(RecordError, match="no individuals 999, -7"):
        record.genotypes(np.array([3, 999, -7]), np.array([0, 2, 2]))
    assert_array_equal(
        record.genotypes([3, 0], [0, 0]), record.genotypes(*np.array([[3, 0], [0, 0]]))
    )


def test_solutions_stand_once_each_with_their_generation_of_birth(whole):
    """Identity is solved where both first genes are above 0.8."""
    record = Record(whole, SEARCH)
    genotypes = record.column("offspring.genotype")
    solved = (genotypes[..., :2] > 0.8).all(axis=-1)
    solutions = record.solutions()
    assert solved.any()
    assert_array_equal(solutions.id, record.column("offspring.id")[solved])
    assert_array_equal(solutions.born, 1 + np.nonzero(solved)[0])
    assert_array_equal(solutions.genotype, genotypes[solved])
    assert solutions.solved.all()
    assert_allclose(solutions.descriptor, 300 + 300 * solutions.genotype[:, :2], rtol=1e-5)


def test_a_frame_and_progress_hold_one_row_a_generation(whole):
    record = Record(whole)
    frame = record.to_dataframe()
    assert frame["generation"].tolist() == list(range(11))
    assert len(brns.to_dataframe(record.population())) == 8
    assert frame["evaluations"].tolist() == [8 + 6 * g for g in range(11)]
    assert frame["solutions"].iloc[-1] == len(record.solutions().id)
    novelty = record.column("survivors.novelty")
    fitness = record.column("survivors.fitness")
    age = np.arange(11)[:, None] - record.column("survivors.born")
    for name, expected in {
        "novelty_mean": novelty.mean(axis=1),
        "novelty_max": novelty.max(axis=1),
        "fitness_mean": fitness.mean(axis=1),
        "fitness_max": fitness.max(axis=1),
        "age_mean": age.mean(axis=1),
        "survivors_new": (age == 0).sum(axis=1),
        "coverage_evaluated": coverage.coverage_of_record(record, (6, 6), "evaluated"),
        "coverage_survivors": coverage.coverage_of_record(record, (6, 6), "survivors"),
    }.items():
        assert_allclose(frame[name], expected, rtol=1e-6)
    rows = pandas.read_csv(whole / "progress.csv")
    assert list(rows.columns) == list(Row._fields)
    assert_allclose(rows, frame.drop(columns="seed"), rtol=1e-8)


def test_a_state_comes_back_with_its_bits(whole):
    record = Record(whole)
    state = record.state(9, SEARCH)
    assert repr(state).startswith("SearchState(generation=9, population=Population(genotype=f32[8,")
    assert repr(record) == f"Record('{whole}', seed=7, generations=10 of 10)"
    again, _ = SEARCH.step(state, jax.random.key(7))
    assert_array_equal(again.population.genotype, record.state(10, SEARCH).population.genotype)
    mixed = replace(SEARCH, mutate=brns.MixedMutation((SEARCH.mutate, brns.GaussianMutation())))
    assert record.state(9, mixed).credit.tolist() == [0.5, 0.5]
    with pytest.raises(RecordError, match=r"no state of generation 4; it has 0, 3 \.\.\. 10"):
        record.state(4, SEARCH)
    with pytest.raises(RecordError, match="no generation 11; it has 0"):
        record.population(11)


def test_a_record_knows_the_search_that_it_was_made_with(whole):
    (record,) = records(whole, SEARCH)
    assert record.search is SEARCH
    assert record.state(9).population.id.shape == (8,)
    alone = Record(whole)
    with pytest.raises(ValueError, match=r"not in brns"):
        alone.search  # noqa: B018
    assert alone.behavior_space.low.tolist() == [0, 0]
    assert alone.behavior_space.high.tolist() == [600, 600]


def test_a_task_in_place_of_a_search_is_told(whole):
    fork = partial(brns.fork, whole, 9, out=whole / "fork")
    for give in (partial(Record, whole), partial(Record(whole).state, 9), fork):
        with pytest.raises(ValueError, match=r"a search, as in brns\.NoveltySearch\(task\); got"):
            give(search=SEARCH.task)


def test_a_list_of_runs_or_a_file_in_place_of_a_run_is_told(whole):
    runs = records(whole)
    with pytest.raises(AttributeError, match=r"take one, as in records\[0\]\.column"):
        runs.column("offspring.novelty")
    assert not hasattr(runs, "else")
    with pytest.raises(ValueError, match=r"take one of them, as in records\[0\]"):
        brns.resume(runs)
    with pytest.raises(RecordError, match=r"run\.json is a file: give the run's folder"):
        Record(whole / "run.json")


def test_records_finds_one_run_or_those_below(whole, tmp_path):
    assert [r.seed for r in records(whole)] == [7]
    brns.run(HOST, 1, out=tmp_path / "many", seeds=[2000, 10000])  # seed10000 is first by name
    assert [r.seed for r in records(tmp_path / "many")] == [2000, 10000]
    with pytest.raises(RecordError, match=r"is not a run and holds none"):
        records(whole / "generations")
    with pytest.raises(RecordError, match=r"is not a run: it has no run.json"):
        Record(tmp_path)
