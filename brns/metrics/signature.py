r"""The signature of a path: its iterated integrals, which tell its shape and neither its speed nor its place.

$S^{(i_1 \dots i_k)} = \int_{t_1 < \dots < t_k} dx^{i_1}_{t_1} \dots dx^{i_k}_{t_k}$, for all words of up to `level`
letters. A straight piece with increment v has the signature $\exp(v) = (v, v^{\otimes 2}/2!, v^{\otimes 3}/3!, \dots)$,
and one path after another has the product of their signatures (Chen's identity).

Source: Chevyrev & Kormilitzin, arXiv:1603.03788. Paths run forward in time; the published code lists their points
backwards, which gives the inverse signature.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@partial(jax.jit, static_argnames="level")
def signature(paths: Float[Array | np.ndarray, "n t c"], level: int = 2) -> Float[Array, "n s"]:
    """The truncated signatures of n paths of t points with c coordinates: s = c + c^2 + ... + c^level terms.

    Terms are ordered by length, then by letters: x, y, xx, xy, yx, yy in the plane. The constant term 1 is left out.
    """
    c = jnp.shape(paths)[2]

    def lengthen(terms, increment):
        piece = [increment]
        for k in range(2, level + 1):
            piece.append(jnp.kron(piece[-1], increment) / k)
        return chen(terms, piece), None

    def of_path(path):
        still = [jnp.zeros(c**k, jnp.float32) for k in range(1, level + 1)]
        return jnp.concatenate(jax.lax.scan(lengthen, still, jnp.diff(path, axis=0))[0])

    return jax.vmap(of_path)(jnp.asarray(paths, jnp.float32))


def chen(first: Sequence[Float[Array, " _"]], then: Sequence[Float[Array, " _"]]) -> list[Float[Array, " _"]]:
    r"""The signature of one path after another: $S_k = \sum_{r=0}^{k} A_{k-r} \otimes B_r$ with $A_0 = B_0 = 1$."""
    return [first[k] + then[k] + sum(jnp.kron(first[k - r - 1], then[r]) for r in range(k)) for k in range(len(first))]
