"""Genotypes that are not on disk: those that are made again are those that were born,
or it is said."""

import json
from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pytest
from files import rewrite
from numpy.testing import assert_array_equal
from searches import HOST as STATELESS

import brns
from brns import GaussianMutation, Generation, PolynomialMutation, Record, RecordError
from brns.runs import metadata, remaking
from brns.runs.metadata import read_sources
from brns.runs.remaking import GENOTYPE

HOST = replace(STATELESS, estimator=brns.VisitCounts(grids=8))


@pytest.fixture(scope="module")
def born(tmp_path_factory):
    """A run of twelve generations in which few survive, and all genotypes of it."""
    out = tmp_path_factory.mktemp("born") / "run"
    (record,) = brns.run(HOST, 12, out=out, seed=3, checkpoint_every=4)
    key, state, everybody = jax.random.key(3), HOST.init(jax.random.key(3)), []
    for _ in range(12):
        state, generation = HOST.step(state, key)
        everybody.append(np.asarray(generation.offspring.genotype))
    assert not all(record.read_generation_arrays(g)["stored"].all() for g in range(1, 13))
    return out, np.stack(everybody)


def test_what_is_made_again_has_the_bits_of_what_was_born(born):
    path, everybody = born
    record = Record(path, HOST)
    assert_array_equal(record.column(GENOTYPE), everybody)
    for number, genotypes in enumerate(everybody, 1):
        digest = record.arrays("generations", number)["digest"]
        assert_array_equal(digest, remaking.digest_genotypes_together(genotypes))


def test_other_operators_are_refused_where_nobody_survived_too(born):
    record = Record(born[0])
    record.search = replace(HOST, mutate=PolynomialMutation(eta=5.0, rate=0.5))
    for number in record.generations[1:]:
        facts = record.read_generation_arrays(number)
        nobody = np.zeros(len(facts["stored"]), bool)
        record._read[number] = facts | {"stored": nobody, GENOTYPE: facts[GENOTYPE][:0]}
        with pytest.raises(RecordError, match=r"cannot be made again here.*varies otherwise"):
            record.column(GENOTYPE, [number])


class Rounded(eqx.Module):
    """Polynomial mutation that rounds otherwise than that of the run,
    by so much of a gene's box."""

    by: float

    def __call__(self, key, genotypes, box):
        mutants = HOST.mutate(key, genotypes, box)
        return box.low + (mutants - box.low) * (1 - self.by)


def test_own_code_that_was_edited_is_named(born):
    record = Record(born[0])
    record.search = replace(HOST, mutate=Rounded(1e-3))
    with pytest.raises(RecordError, match=r"your own code was edited since: .*Rounded.__call__"):
        record.column(GENOTYPE)
    record.metadata.edits.append(metadata.Edit(after=12, before={}))
    record.metadata.sources |= read_sources(record.search).texts
    with pytest.raises(RecordError, match="varies otherwise"):
        record.column(GENOTYPE)
    record.metadata.edits[0].before["test_remaking.Rounded.__call__"] = ""
    later = metadata.Edit(after=12, before=dict(record.metadata.sources))
    record.metadata.edits.append(later)
    with pytest.raises(RecordError, match=r"your own code was edited since: test_remaking.Rounded"):
        record.column(GENOTYPE, [12])  # the last before the edit


@pytest.mark.parametrize("genes", [1, 3, 300])
def test_a_fingerprint_sees_a_gene_and_leaves_rounding_alone(genes):
    box = brns.Box(np.full(genes, -2.0), np.full(genes, 3.0))
    genotypes = np.random.default_rng(0).uniform(-2, 3, (50, genes)).astype(np.float32)
    first = remaking.project_genotypes(genotypes, box)
    near = remaking.SPREAD * genes**0.5
    rounded = np.nextafter(genotypes, np.float32(9))
    assert np.abs(remaking.project_genotypes(rounded, box) - first).max() < near / 10
    moved = genotypes.copy()
    moved[np.arange(50), np.arange(50) % genes] += 5e-3
    assert np.abs(remaking.project_genotypes(moved, box) - first).min() > near


LIKE = [
    (0, 0.0, 0.0, "exact"),
    (0, 1.5e-5, 0.0, "rounded"),
    (0, 2e-4, -2e-4, "other"),  # of one whose genes are on disk
    (5, 2e-4, -2e-4, "rounded"),
    (5, 5e-5, 0.0, "other"),
]
"""two genes of a row moved, so that the fingerprint is by the sum, and how like that is"""


def test_what_is_made_again_is_compared_by_genes_on_disk_and_by_fingerprints():
    box = brns.Box(np.full(5, -2.0), np.full(5, 3.0))
    genotypes = np.random.default_rng(0).uniform(-1, 2, (6, 5)).astype(np.float32)
    born = Generation.from_descriptors(np.zeros((6, 2)), 1)
    born = born._replace(offspring=born.offspring._replace(genotype=genotypes))
    facts = remaking.make_genotype_and_digest_columns(born, box, "survivors", np.arange(6) < 3)
    facts["offspring"] = {"parent": np.arange(6)}
    weights = remaking.project_genotypes(5 * np.eye(5) - 2, box)
    for row, *moves, like in LIKE:
        again = SimpleNamespace(genotype=genotypes.copy(), parent=np.arange(6))
        again.genotype[row, :2] += 5 * np.array(moves) / weights[:2]
        assert remaking.compare_with_stored(facts, again, box) == like
    again = SimpleNamespace(genotype=genotypes, parent=np.arange(6)[::-1])
    assert remaking.compare_with_stored(facts, again, box) == "other"


@pytest.mark.slow
def test_a_fork_keeps_the_genotypes_that_its_own_operators_cannot_make(born, tmp_path):
    path, everybody = born
    mixture = brns.MixedMutation((PolynomialMutation(eta=9.0), GaussianMutation()))
    other = replace(HOST, mutate=mixture, tournament=2)
    copy = brns.fork(path, 8, other, out=tmp_path / "fork", generations=10)
    again = brns.fork(copy, 8, HOST, out=tmp_path / "again", generations=9)
    (record,) = brns.resume(copy, search=other)
    nearly = replace(HOST, mutate=replace(HOST.mutate, eta=HOST.mutate.eta + 1e-5))
    near = brns.fork(path, 8, nearly, out=tmp_path / "near", generations=9)
    for each in (record, again, near):
        assert_array_equal(each.column(GENOTYPE, range(1, 9)), everybody[:8])
    assert record.column(GENOTYPE, [9, 10]).shape == (2, 6, 5)


def move_elsewhere(run, version):
    """Say in run.json that other versions computed what there is, on other cores, which compute
    the same."""
    facts = json.loads((run / "run.json").read_text())
    provenance = facts["sessions"][-1]["provenance"]
    provenance |= {"commit": "other", "command": "other"}
    provenance["machine"]["cores"] += 1
    provenance["versions"]["jax"] = version
    rewrite(run, facts)


def test_a_run_that_goes_on_elsewhere_says_what_it_cannot_make_again(tmp_path):
    run = tmp_path / "run"
    brns.run(HOST, 4, out=run, seed=3)
    move_elsewhere(run, "0.1")
    record = Record(run, HOST)
    assert record.made_elsewhere
    (resumed,) = brns.resume(record, 5, search=HOST)  # the same bits here: there is nothing to say
    assert not resumed.made_elsewhere
    move_elsewhere(run, "0.2")
    rounded, cannot = "are made again up to rounding", "cannot be made again here"
    for number, how, version in ((5, rounded, "0.2"), (5, cannot, "0.2"), (4, cannot, "0.1")):
        record = Record(run, HOST)
        arrays = record.arrays("generations", number)
        arrays["digest"] = np.zeros(8, np.uint8)
        arrays["fingerprint"] = arrays["fingerprint"] + (how == cannot)
        record.write("generations", number, arrays)
        where = f"where commit was 'other' and is [^;]*; versions.jax was '{version}'"
        message = f"{how}.*{number}.*{where}"
        with pytest.warns(UserWarning, match=message):
            remaking.warn_unless_exact(record)
        if how == rounded:
            with pytest.warns(UserWarning, match=how) as said:
                assert record.column(GENOTYPE, [5, 5]).any()
            assert len(said) == 1
    with pytest.warns(UserWarning, match=message):
        brns.fork(record, 5, HOST, out=tmp_path / "fork", generations=6)
    with pytest.warns(UserWarning, match=message):
        brns.resume(record, 6, search=HOST)


def test_everybodys_genotypes_are_stored_where_that_is_asked_for(born, tmp_path):
    _, everybody = born
    out = tmp_path / "run"
    brns.run(HOST, 10, out=out, seed=3, genotypes="all")
    brns.resume(out, 12, search=HOST)
    assert_array_equal(Record(out).column(GENOTYPE), everybody)  # without any search
    with pytest.raises(RecordError, match=r"genotypes=all; .*genotypes=survivors were asked for"):
        brns.run(HOST, 14, out=out, seed=3, exist="resume")
    assert brns.fork(out, 10, HOST, out=tmp_path / "fork").metadata.genotypes == "all"
