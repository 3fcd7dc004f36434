"""Founders: where they lie, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shell import SHORT, call
from worlds import HostIdentity, Identity

import brns
from brns import Box, FeedForward, GivenFounders, LayerFounders, NoveltySearch, PopulationKNN, UniformFounders
from brns.experiments import configured, maze
from brns.runs.earlier import today
from brns.settings import build, describe

KEY = jax.random.key(0)
BOX = Box([-1.0] * 17, [1.0] * 17)


def test_each_layer_fills_one_over_root_fan_in():
    """Of 4 -> 2 -> 1 the first 10 genes are weights and biases behind 4 inputs, the last 3 behind 2."""
    founders = LayerFounders((4, 2, 1))(KEY, 20_000, Box([-1.0] * 13, [1.0] * 13))
    (first, bias), (second, last) = FeedForward((4, 2, 1)).layers(founders)
    for values, bound in ((first, 1 / 2), (bias, 1 / 2), (second, 0.5**0.5), (last, 0.5**0.5)):
        values = np.asarray(values)
        assert 0.999 * bound < abs(values).max() <= bound
        np.testing.assert_allclose(values.std(), bound / np.sqrt(3), rtol=0.02)
        assert abs(values.mean()) < 0.01


def test_founders_stay_in_a_narrow_box():
    founders = np.asarray(LayerFounders((1, 1))(KEY, 1000, Box([-0.1, -0.2], [0.3, 0.4])))
    assert founders.min(axis=0).tolist() == pytest.approx([-0.1, -0.2])
    assert founders.max(axis=0).tolist() == pytest.approx([0.3, 0.4])


@pytest.mark.parametrize("sizes", [(3,), (3, 0, 2)])
def test_what_is_no_network_is_refused(sizes):
    with pytest.raises(ValueError, match="at least two layer sizes"):
        LayerFounders(sizes)


def test_another_number_of_weights_is_refused():
    search = NoveltySearch(Identity(), PopulationKNN(k=3), 5, 5, founders=LayerFounders((2, 1)))
    with pytest.raises(ValueError, match=r"sizes=\(2, 1\) have 3 weights and biases, .* has 5 dimensions"):
        search.init(KEY)


def test_a_search_begins_with_its_founders():
    """The five genes of Identity as 4 -> 1: weights and a bias in +-1/2."""
    search = NoveltySearch(Identity(), PopulationKNN(k=3), 40, 5, founders=LayerFounders((4, 1)))
    genotype = np.asarray(search.init(KEY).population.genotype)
    assert 0.4 < abs(genotype).max() <= 0.5


def test_the_sizes_of_the_maze_are_the_default():
    search = configured("maze", "population", ["founders=layers"])
    assert search.founders == LayerFounders()
    assert search.founders(KEY, 2, search.task.genotype_space).shape == (2, 302)
    assert configured("maze", "counts", ["founders=layers", "founders.sizes=[4, 2]"]).founders == LayerFounders((4, 2))


def test_a_search_described_before_founders_were_a_setting_has_uniform_ones():
    now = describe(maze())
    before = {name: part for name, part in now.items() if name != "founders"}
    assert today(before) == now
    assert now["founders"] == {"name": "UniformFounders"}


def identity(founders, **changes):
    return NoveltySearch(Identity(), PopulationKNN(k=3), 6, 5, founders=founders, **changes)


@pytest.mark.filterwarnings("error")
def test_a_search_begins_with_the_founders_given_and_goes_on_where_another_ended(tmp_path):
    (before,) = brns.run(identity(UniformFounders()), 3, out=tmp_path / "before")
    founders = GivenFounders(before.population().genotype)
    (after,) = brns.run(identity(founders, mutate=brns.GaussianMutation()), 2, out=tmp_path / "after", seeds=7)
    np.testing.assert_array_equal(after.column("offspring.genotype", [0])[0], before.state(3).population.genotype)


def test_a_record_knows_founders_by_their_digest_and_is_resumed_without_them(tmp_path):
    first = np.linspace(-1, 1, 30).reshape(6, 5)
    brns.run(identity(GivenFounders(first)), 1, out=tmp_path / "run")
    with pytest.raises(brns.RecordError, match=r"another experiment: founders\.sha256"):
        brns.records(tmp_path / "run", identity(GivenFounders(-first)))
    held = brns.Record(tmp_path / "run").experiment["founders"]
    again = build(held)
    assert describe(again) == held == describe(GivenFounders(first))
    (longer,) = brns.resume(tmp_path / "run", 2, search=identity(again))
    np.testing.assert_array_equal(longer.population(0).genotype, first.astype(np.float32))
    with pytest.raises(ValueError, match=r"give them again, as GivenFounders\(record.population\(0\).genotype\)"):
        identity(again).init(KEY)


@pytest.mark.parametrize(
    ("genotypes", "message"),
    [
        (np.zeros((5, 5)), r"needs founders of shape \(6, 5\); got \(5, 5\)"),
        (np.full((6, 5), 1.5), "6 of 6 founders lie outside the genotype space"),
        (np.zeros(5), r"shape \(n, p\); got an array of shape \(5,\)"),
        (np.full((6, 5), np.nan), "must be finite"),
    ],
)
def test_founders_that_cannot_be_are_refused(genotypes, message):
    with pytest.raises(ValueError, match=message):
        identity(GivenFounders(genotypes)).init(KEY)


def test_the_command_line_takes_them_from_a_file_or_a_run(tmp_path):
    small = [*SHORT, "--generations", 1, "--estimator", "counts"]
    first = np.random.default_rng(0).uniform(-1, 1, (20, 302)).astype(np.float32)
    np.save(tmp_path / "first.npy", first)
    for out, founders in (("one", "first.npy"), ("two", "one")):
        done = call("run", "maze", *small, "--founders", founders, "--out", out, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    one, two = brns.Record(tmp_path / "one"), brns.Record(tmp_path / "two")
    np.testing.assert_array_equal(one.population(0).genotype, first)
    np.testing.assert_array_equal(two.population(0).genotype, one.population().genotype)
    assert one.search.founders.sha256 == one.experiment["founders"]["sha256"]
    (tmp_path / "bad.npy").write_text("no array")
    done = call("run", "maze", *small, "--founders", "bad.npy", "--out", "bad", folder=tmp_path)
    assert done.returncode == 2
    assert "--founders takes a file of numpy.save" in done.stderr


def test_founders_of_ones_own_are_float32_and_inside_the_box():
    """NumPy's float64 becomes what is recorded before it is evaluated; what leaves the box is refused at once."""

    class Seen(HostIdentity):
        def evaluate(self, genotypes, key):
            assert genotypes.dtype == np.float32
            return super().evaluate(genotypes, key)

    whole = brns.NoveltySearch(
        Seen(), brns.GridCounts(), 6, 6, founders=lambda key, n, box: np.zeros((n, box.dimension), int)
    )
    assert whole.init(KEY).population.genotype.dtype == jnp.float32
    wide = brns.NoveltySearch(
        Seen(), brns.GridCounts(), 6, 6, founders=lambda key, n, box: np.full((n, box.dimension), 2.0)
    )
    with pytest.raises(ValueError, match="6 of 6 founders lie outside the genotype space"):
        wide.init(KEY)
