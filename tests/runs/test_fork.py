"""Forks: they go on to the bits of the run itself, or say what cannot be gone on with."""

import errno
import json
import os
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import bits
from worlds import HostIdentity, Identity

import brns
from brns import (
    ArchiveKNN,
    Box,
    ExactRecognition,
    NoveltySearch,
    PolynomialMutation,
    Record,
    RecordError,
    VisitCounts,
    fork,
    run,
)
from brns.runs.fork import branch
from brns.runs.metadata import origin

ARCHIVE = ArchiveKNN(k=2, additions=3, capacity=40)


def search(estimator=None, task=None, **changes):
    sizes = {"population_size": 8, "offspring_size": 6, "mutate": PolynomialMutation(eta=2.0, rate=0.5)}
    return NoveltySearch(task or Identity(), estimator or VisitCounts(grids=8), **(sizes | changes))


def archives(capacity):
    return search(replace(ARCHIVE, capacity=capacity))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 12 generations with a state every 2, a batch of two seeds, and a run with an archive."""
    folder = tmp_path_factory.mktemp("run")
    run(search(), 12, out=folder / "one", seed=5, checkpoint_every=2)
    run(search(), 6, out=folder / "batch", seeds=[0, 1], checkpoint_every=2)
    run(archives(40), 12, out=folder / "archive", seed=5, checkpoint_every=2)
    return folder


def files(path):
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("at", [0, 6])
def test_a_fork_with_nothing_changed_is_the_run_itself_to_the_bit(whole, tmp_path, at):
    before = files(whole / "one")
    (record,) = fork(whole / "one", at, search(), out=tmp_path / "fork")
    assert record.snapshots[0] == at
    assert record.generations == list(range(13))
    assert record.metadata.id != Record(whole / "one").metadata.id
    assert files(whole / "one") == before
    assert bits(tmp_path / "fork").items() <= bits(whole / "one").items()
    assert origin(record.metadata) == f"Forked from {whole / 'one'} after generation {at}: nothing changed."


def test_one_seed_of_a_batch_is_forked_alone_up_to_rounding(whole, tmp_path):
    source = Record(whole / "batch" / "seed0001")
    (record,) = fork(source.path, 4, search(), out=tmp_path / "fork")
    assert (record.seed, record.seeds, record.metadata.lanes) == (1, [1], 1)
    copied = range(1, 5)
    np.testing.assert_array_equal(
        record.column("offspring.genotype", copied), source.column("offspring.genotype", copied)
    )
    for column in ("offspring.genotype", "survivors.descriptor"):
        np.testing.assert_allclose(record.column(column), source.column(column), rtol=1e-4, atol=1e-4)
    (longer,) = brns.resume(tmp_path / "fork", 8, search=search())  # it is no part of a batch any more
    assert longer.last == 8


def test_a_batch_is_forked_as_a_batch_and_made_longer(whole, tmp_path):
    run(search(), 8, out=tmp_path / "long", seeds=[0, 1], checkpoint_every=2)
    forked = fork(whole / "batch", 4, search(), out=tmp_path / "fork", generations=8)
    assert [record.seed for record in forked] == [0, 1]
    assert [record.planned for record in forked] == [8, 8]
    assert bits(tmp_path / "fork").items() <= bits(tmp_path / "long").items()


def test_archives_share_their_history_until_the_smaller_is_full(whole, tmp_path):
    """Three enter a generation: after 6 there are 18, which fill the smallest to the last row."""
    run(archives(18), 12, out=tmp_path / "alone", seed=5, checkpoint_every=2)
    (record,) = fork(whole / "archive", 6, archives(18), out=tmp_path / "fork")
    assert bits(tmp_path / "fork").items() <= bits(tmp_path / "alone").items()
    assert record.state(6).estimator.id.shape == (18,)
    assert record.metadata.forked.changed == {"estimator.capacity": (40, 18)}


def test_an_archive_keeps_its_entries_and_no_others():
    state = ARCHIVE.init(Box([0.0] * 2, [1.0] * 2), jax.random.key(0))
    five = jnp.arange(5)
    state = state._replace(id=state.id.at[:5].set(five), descriptor=state.descriptor.at[:5].set(five[:, None]))
    for capacity in (5, 7, 40, 100):
        other = replace(ARCHIVE, capacity=capacity).resized(state)
        assert other.id.tolist() == [0, 1, 2, 3, 4] + [-1] * (capacity - 5)
        assert other.entered.tolist() == [-1] * capacity
        assert other.descriptor[:5].tolist() == [[i, i] for i in range(5)]
        assert all(a.dtype == b.dtype for a, b in zip(other, state, strict=True))
    with pytest.raises(ValueError, match="an archive of 5 entries does not fit into a capacity of 4"):
        replace(ARCHIVE, capacity=4).resized(state)


def test_what_is_changed_is_so_from_there_on(whole, tmp_path):
    """Without mutation the offspring have their parents' genes."""
    still = search(mutate=PolynomialMutation(eta=2.0, rate=0.0))
    (record,) = fork(whole / "one", 6, still, out=tmp_path / "fork", generations=8)
    parents = Record(whole / "one", search()).state(6).population
    rows = [parents.id.tolist().index(parent) for parent in record.column("offspring.parent", [7])[0]]
    np.testing.assert_array_equal(record.column("offspring.genotype", [7])[0], parents.genotype[jnp.array(rows)])
    assert "mutate.rate was 0.5 and is 0.0" in origin(record.metadata)


def test_a_fork_says_where_it_comes_from_and_so_does_a_fork_of_it(whole, tmp_path):
    branch(whole / "archive", 6, archives(50), out=tmp_path / "first")
    branch(tmp_path / "first", 6, archives(60), out=tmp_path / "second", generations=7)
    said = json.loads((tmp_path / "second" / "run.json").read_text())["forked"]
    parent = Record(whole / "archive")
    assert said["forked"]["id"] == parent.metadata.id
    assert said["forked"]["commit"] == parent.metadata.commit
    assert said["forked"]["versions"] == parent.versions
    assert (said["generation"], said["forked"]["generation"]) == (6, 6)
    assert said["changed"] == {"estimator.capacity": [50, 60]}


class Longer(Identity):
    genotype_space: Box = Box([-1.0] * 6, [1.0] * 6)


class Deeper(HostIdentity):
    behavior_space: Box = Box([0.0] * 3, [600.0] * 3)


@pytest.mark.parametrize(
    ("at", "other", "message"),
    [
        (5, search(), r"keeps no state of generation 5; it has 0, 2 ... 12 \(7 of them\)"),
        (12, search(), "0 <= at < generations"),
        (6, search(task=Longer()), "genotype should be"),
        (6, search(task=Deeper()), "cannot change the space of behaviors"),
        (8, archives(18), "an archive of 24 entries does not fit .* 18"),
        (6, search(ExactRecognition(size=8)), "belongs to another experiment"),
        (6, search(population_size=9), "cannot change population_size: .* has 8; got 9"),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused_and_nothing_is_made(whole, tmp_path, at, other, message):
    which = "archive" if isinstance(other.estimator, ArchiveKNN) else "one"
    with pytest.raises(ValueError, match=message):
        fork(whole / which, at, other, out=tmp_path / "fork")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_or_a_taken_folder_leaves_nothing_half_made(whole, tmp_path, monkeypatch):
    """The disk is full at every ninth save in turn; somebody takes the place while generations are copied."""
    sync, left = os.fsync, 0

    def save(descriptor):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", save)
    for room in range(0, 28, 9):
        left = room
        with pytest.raises(RecordError, match="No space left"):
            branch(whole / "batch", 4, search(), out=tmp_path / "fork")
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: (tmp_path / "fork" / "notes").mkdir(parents=True, exist_ok=True)
    )
    with pytest.raises(RecordError, match="was taken"):
        branch(whole / "batch", 4, search(), out=tmp_path / "fork")
    assert [file.name for file in tmp_path.rglob("*")] == ["fork", "notes"]


def test_runs_that_are_no_batch_are_not_forked_together(whole, tmp_path):
    with pytest.raises(RecordError, match="not the seeds of one batch; fork one of them"):
        fork(whole, 2, search(), out=tmp_path / "fork")


class Doubling(eqx.Module):
    """An estimator of one's own that can be made larger."""

    size: int

    def init(self, space, key):
        return jnp.ones(self.size)

    def score(self, state, descriptors, population):
        return jnp.full(len(descriptors), state.sum())

    def update(self, state, generation, key):
        return state

    def resized(self, state):
        return jnp.resize(state, self.size)


def test_an_estimator_of_ones_own_may_resize_its_state_too(tmp_path):
    run(search(Doubling(2)), 2, out=tmp_path / "run", checkpoint_every=1)
    (record,) = fork(tmp_path / "run", 1, search(Doubling(5)), out=tmp_path / "fork")
    assert record.column("offspring.novelty", [1, 2]).tolist() == [[2.0] * 6, [5.0] * 6]


@pytest.mark.parametrize(
    ("change", "effect"),
    [({"frequencies": (0.5, 2.0)}, False), ({"regularization": 2.0}, True), ({"forgetting": 0.9}, True)],
)
def test_a_setting_that_only_the_beginning_reads_is_refused(tmp_path, change, effect):
    one = search(ExactRecognition(size=8))
    run(one, 2, out=tmp_path / "run", checkpoint_every=1)
    other = replace(one, estimator=replace(one.estimator, **change))
    if effect:
        branch(tmp_path / "run", 1, other, out=tmp_path / "fork")
    else:
        with pytest.raises(ValueError, match=r"cannot change estimator\.frequencies, which has no effect"):
            branch(tmp_path / "run", 1, other, out=tmp_path / "fork")
