"""Products that novelty depends on: accelerators' own are short, and would round novelty's differences away."""

import jax
import pytest
from jax.extend.core import jaxprs_in_params

import brns
from brns.core import individuals, learned, observed, scored

SPACE = brns.Box([-1.0] * 3, [1.0] * 3)
KEY = jax.random.key(0)


def products(jaxpr):
    """The precision that each product of matrices asks for, in what it calls too."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation.params["precision"]
        for inner in jaxprs_in_params(equation.params):
            yield from products(inner)


@pytest.mark.parametrize("estimator", [brns.VisitCounts(), brns.ExactRecognition(), brns.BehaviorRecognition()])
def test_products_ask_for_the_highest_precision(estimator):
    points = jax.random.uniform(KEY, (8, 3))
    state = estimator.init(SPACE, KEY)
    for asked in (
        jax.make_jaxpr(lambda state: scored(estimator, state, points, individuals(points)))(state),
        jax.make_jaxpr(lambda state: learned(estimator, state, observed(points, 1), KEY))(state),
    ):
        found = set(products(asked.jaxpr))
        assert found == {(jax.lax.Precision.HIGHEST,) * 2}
