"""Forks: they go on to the bits of the run itself, or say what cannot be gone on with."""

import errno
import os
from dataclasses import replace

import jax.numpy as jnp
import pytest
from files import bits, contents
from numpy.testing import assert_allclose, assert_array_equal
from searches import HOST
from small_tasks import HostIdentity, Identity

import brns
from brns.runs.metadata import describe_fork


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 12 generations with a state every 2, and a batch of two seeds."""
    folder = tmp_path_factory.mktemp("run")
    brns.run(HOST, 12, out=folder / "one", seed=5, checkpoint_every=2, name="mine")
    batch = replace(HOST, task=Identity())
    brns.run(batch, 6, out=folder / "batch", seeds=[0, 1], checkpoint_every=2)
    return folder


def test_a_fork_with_nothing_changed_is_the_run_itself_to_the_bit(whole, tmp_path):
    source = whole / "one"
    before = contents(source)
    for at in (0, 6):
        copy = brns.fork(source, at, HOST, out=tmp_path / f"{at}")
        assert (copy.last_generation, copy.generations_with_states) == (at, [at])
        (record,) = brns.resume(copy, search=HOST)
        assert record.metadata.id != brns.Record(source).metadata.id
        assert record.metadata.estimator == "mine"
        assert len(bits(copy)) > 13
        assert bits(copy).items() <= bits(source).items()
        told = f"Forked from {source} after generation {at}: nothing changed."
        assert describe_fork(record.metadata) == told
    assert contents(source) == before


def test_a_fork_keeps_the_state_it_began_with(tmp_path):
    """So that it can be forked there, too."""
    (source,) = brns.run(HOST, 3, out=tmp_path / "run", checkpoint_every=2)
    brns.fork(source, 3, out=tmp_path / "fork", generations=6)
    (record,) = brns.resume(tmp_path / "fork", search=HOST)
    assert record.generations_with_states == [3, 4, 6]


def test_one_seed_of_a_batch_is_forked_alone_up_to_rounding(whole, tmp_path):
    one = replace(HOST, task=Identity())
    source = brns.Record(whole / "batch" / "seed0001", one)
    (record,) = brns.resume(brns.fork(source, 4, out=tmp_path / "fork", generations=8), search=one)
    assert (record.seed, record.seeds, record.last_generation) == (1, [1], 8)
    assert record.metadata.seed_batches == 1
    genotypes = [each.column("offspring.genotype", range(1, 5)) for each in (record, source)]
    assert_array_equal(*genotypes)
    for column in ("offspring.genotype", "survivors.descriptor"):
        found = record.column(column, range(1, 7))
        assert_allclose(found, source.column(column, range(1, 7)), rtol=1e-4, atol=1e-4)


def test_the_state_of_exact_recognition_keeps_its_weight_of_a_prior(tmp_path):
    exact = replace(HOST, estimator=brns.ExactRecognition(8))
    (source,) = brns.run(exact, 2, out=tmp_path / "run")
    other = replace(HOST, estimator=brns.ExactRecognition(8, regularization=0.01))
    with pytest.raises(ValueError, match=r"cannot change estimator\.regularization: .* has 1\.0"):
        brns.fork(source, 2, other, out=tmp_path / "other", generations=3)


def test_what_is_changed_is_so_from_there_on_and_told(whole, tmp_path):
    """Without mutation the offspring have their parents' genes."""
    source = brns.Record(whole / "one", HOST)
    still = replace(HOST, mutate=brns.PolynomialMutation(2.0, 0.0))
    brns.fork(source, 6, still, out=tmp_path / "fork", generations=8)
    (record,) = brns.resume(tmp_path / "fork", search=still)
    parents = source.state(6).population
    (named,) = record.column("offspring.parent", [7])
    (genotypes,) = record.column("offspring.genotype", [7])
    rows = [parents.id.tolist().index(parent) for parent in named]
    assert_array_equal(genotypes, parents.genotype[jnp.array(rows)])
    assert "mutate.rate was 0.5 and is 0.0" in describe_fork(record.metadata)
    assert record.metadata.forked.id == source.metadata.id


@pytest.mark.slow
def test_credit_follows_operators_and_begins_even_for_others(whole, tmp_path):
    mixed = replace(HOST, mutate=brns.MixedMutation(exploration=0.5))
    (source,) = brns.run(mixed, 2, out=tmp_path / "mixed", checkpoint_every=2)
    earned = source.state(2).credit
    even = jnp.full(len(earned), 1 / len(earned))
    assert (earned != even).any()
    again = replace(mixed, mutate=brns.MixedMutation(exploration=0.2))
    backwards = replace(mixed, mutate=brns.MixedMutation(brns.MixedMutation().operators[::-1]))
    for number, (search, credit) in enumerate([(again, earned), (backwards, even)]):
        copy = brns.fork(source, 2, search, out=tmp_path / f"{number}", generations=3)
        assert_array_equal(copy.state(2).credit, credit)


def test_a_wider_genotype_space_needs_the_search_that_made_the_run(whole, tmp_path):
    """Which a record of an own task has only if it is given."""
    wider = replace(HOST, task=HostIdentity(genotype_space=brns.Box([-2.0] * 5, [2.0] * 5)))
    with pytest.raises(brns.RecordError, match="cannot be made again"):
        brns.fork(whole / "one", 6, wider, out=tmp_path / "fork")
    source = brns.Record(whole / "one", HOST)
    copy = brns.fork(source, 6, wider, out=tmp_path / "fork")
    same = range(1, 7)
    assert_array_equal(
        copy.column("offspring.genotype", same), source.column("offspring.genotype", same)
    )


LONGER = HostIdentity(genotype_space=brns.Box([-1.0] * 6, [1.0] * 6))
NARROWER = HostIdentity(genotype_space=brns.Box([-0.1] * 5, [0.1] * 5))
DEEPER = HostIdentity(behavior_space=brns.Box([0.0] * 3, [600.0] * 3))


@pytest.mark.parametrize(
    ("at", "other", "message"),
    [
        (40, HOST, r"keeps no state of generation 40; it has 0, 2 ... 12"),
        (5, HOST, r"keeps no state of generation 5; it has 0, 2 ... 12 \(7 of them\)"),
        (12, HOST, "planned for 12 generations: say by generations= .* from 13 on"),
        (6, replace(HOST, task=LONGER), "length of genotypes: .* has 5; got 6"),
        (6, replace(HOST, task=DEEPER), r"the space of behaviors: .*\[0.0, 0.0\].*got .* 600"),
        (6, replace(HOST, task=NARROWER), "8 of 8 who live in generation 6 of .* are; give"),
        (6, replace(HOST, estimator=brns.ArchiveKNN(k=2)), "does not fit these settings"),
        (6, replace(HOST, population_size=9), "population_size: .* has 8; got 9"),
        (6, replace(HOST, offspring_size=7), "offspring_size: .* has 6; got 7"),
        (6, replace(HOST, founders=brns.GivenFounders([[0.0] * 5] * 8)), "cannot change founders"),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused_and_nothing_is_made(
    whole, tmp_path, at, other, message
):
    with pytest.raises(ValueError, match=message):
        brns.fork(whole / "one", at, other, out=tmp_path / "fork")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_or_a_taken_folder_leaves_nothing_half_made(whole, tmp_path, monkeypatch):
    """Full at the first save and at a later one; taken while generations are copied."""
    sync, out = os.fsync, tmp_path / "fork"

    def save(descriptor):
        if next(room) == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", save)
    for saves in (0, 9):
        room = iter(range(saves, -1, -1))
        with pytest.raises(brns.RecordError, match="No space left"):
            brns.fork(whole / "one", 4, HOST, out=out)
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os, "fsync", lambda _: (out / "notes").mkdir(parents=True, exist_ok=True))
    with pytest.raises(brns.RecordError, match="exists already"):
        brns.fork(whole / "one", 4, HOST, out=out)
    assert [file.name for file in tmp_path.rglob("*")] == ["fork", "notes"]
