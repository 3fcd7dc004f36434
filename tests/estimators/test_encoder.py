"""The encoders of behavior recognition: how their weights begin, and encoders of one's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import bits
from learning import KEY, SQUARE
from numpy.testing import assert_allclose, assert_array_equal
from searches import search
from small_tasks import HostIdentity

from brns import BehaviorRecognition, resume, run
from brns.core import Population
from brns.estimators.encoder import Encoder, build_encoder, init_he
from brns.experiments import make_paper_brns


def fills(values, bound):
    """Whether they are uniform in +-bound, as far as a few hundred can tell."""
    assert 0.95 * bound < abs(values).max() <= bound
    assert_allclose(np.std(values), bound / np.sqrt(3), rtol=0.1)


def test_weights_have_their_distribution():
    zero, biased = (Encoder(200, 200, 200, 1, name, KEY) for name in ("he", "he-biased"))
    for layer, other in zip(zero.layers, biased.layers, strict=True):
        assert_allclose(layer.weight.std(), np.sqrt(2 / 200), rtol=0.03)
        # A Gaussian has 4.55 % of its mass beyond two standard deviations.
        assert_allclose((abs(layer.weight) > 2 * np.sqrt(2 / 200)).mean(), 0.0455, rtol=0.15)
        assert not np.any(layer.bias)
        assert np.array_equal(layer.weight, other.weight)
        fills(other.bias, 0.3)
    for layer in Encoder(200, 200, 200, 1, "uniform", KEY).layers:
        fills(layer.weight, 1 / np.sqrt(200))
        fills(layer.bias, 1 / np.sqrt(200))


class Own(eqx.Module):
    """The fully connected encoder, with parts that are no arrays and are not trained."""

    network: eqx.nn.MLP
    constant: np.ndarray

    def __init__(self, key, depth):
        self.network = init_he(eqx.nn.MLP(2, 4, 6, depth, jax.nn.leaky_relu, key=key), key)
        self.constant = np.full(2, 600, np.int32)

    def __call__(self, descriptors):
        return jax.vmap(self.network)(descriptors / self.constant)


OWN = BehaviorRecognition(encoder=Own, depths=(0, 1))


@pytest.mark.slow
def test_it_equals_the_fully_connected_one_with_the_same_weights():
    own, standard = BehaviorRecognition(encoder=Own, inputs="raw"), make_paper_brns()
    points = SQUARE.uniform(KEY, 20)
    population = Population.from_descriptors(points)
    state, like = own.init(SQUARE, KEY), standard.init(SQUARE, KEY)
    transplanted = [
        eqx.tree_at(lambda e: e.layers, encoder, tuple(weights.network.layers))
        for encoder, weights in ((like.target, state.target), (like.predictor, state.predictor))
    ]
    # depths (3, 5) and the linear last layer
    assert [len(e.layers) for e in transplanted] == [4, 6]
    target, predictor = transplanted
    like = like._replace(target=target, predictor=predictor, scale=jnp.full(2, 600.0))
    novelty = own.score(state, points, population)
    assert_allclose(novelty, standard.score(like, points, population), rtol=1e-4)


@pytest.mark.slow
def test_runs_resume_to_the_same_bits(tmp_path):
    one = search(HostIdentity(), OWN)
    (alone,) = run(one, 4, out=tmp_path / "whole")
    run(one, 2, out=tmp_path / "parts")
    resume(tmp_path / "parts", 4, search=one)
    assert bits(tmp_path / "parts") == bits(tmp_path / "whole")
    weights = alone.state(4).estimator.predictor
    assert weights.constant is None  # a constant of NumPy's is no weight
    assert (build_encoder(Own, weights, 1).constant == 600).all()


def test_he_also_begins_convolutions_and_leaves_the_rest():
    layers = [eqx.nn.Conv2d(8, 300, 3, use_bias=False, key=KEY), jnp.ones(3)]
    convolution, other = init_he(layers, jax.random.key(1))
    assert float(jnp.var(convolution.weight)) == pytest.approx(2 / (8 * 3 * 3), rel=0.05)
    assert convolution.bias is None
    assert_array_equal(other, layers[1])


def test_errors_say_what_an_encoder_must_be():
    def single(key, depth):
        return lambda descriptors: descriptors[0]

    def uneven(key, depth):
        return Encoder(2, depth, 4, 1, "he", key)

    for encoder, message in [
        (single, r"descriptors \(n, 2\) to outputs \(n, m\)"),
        (uneven, "xi\\* has 3 outputs and xi1 has 5"),
    ]:
        with pytest.raises(ValueError, match=message):
            eqx.filter_eval_shape(BehaviorRecognition(encoder=encoder).init, SQUARE, KEY)
