"""The checks of mutation, founders and selection of your own."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns.checks.generations import (
    check_and_split_mutants_and_mates,
    check_genotypes_in_box,
    check_integers,
    check_survivors_distinct,
)
from brns.checks.parts import check_part, explain_compile_errors, require_integer
from brns.core import Box, Founders, Mutation, Population, Recombination, Selection
from brns.core.evaluation import check_shape, name_function_or_class
from brns.core.population import take_rows
from brns.jit import deterministic_jit
from brns.settings.edits import discard_compiled_if_edited
from brns.settings.sources import UserCode


def check_mutation(mutate: Mutation, box: Box, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a mutation, or return.

    Args:
        mutate: the variation operator.
        box: a genotype space, such as `task.genotype_space`.
        n: how many genotypes it varies at once, two on corners of the box; it must also vary one
            alone.

    Raises:
        ValueError: where it does not compile; where mutants have another shape than the genotypes,
            or lie outside the box; where the same key gives others; and where `recombine` gives
            others, or rows of second parents that there are not.
    """
    _check_part_and_box("mutate", mutate, Mutation, box)
    require_integer("n", n)
    corners = jnp.stack([box.low, box.high])
    genotypes = jnp.concatenate([corners, box.uniform(jax.random.key(0), n)])[:n]
    for key in jax.random.split(jax.random.key(1), 4):
        for batch in (genotypes, genotypes[:1]):
            mutants, again = (_call_compiled("mutate", mutate, key, batch, box) for _ in range(2))
            if not eqx.is_array(mutants):
                got = f"{name_function_or_class(mutate)} gave a {type(mutants).__name__}"
                raise ValueError(f"mutate must give one array of JAX; {got}")
            check_shape("mutate", mutate, mutants, batch.shape)
            check_genotypes_in_box("mutate", mutate, jnp.asarray(mutants, jnp.float32), box)
            _check_equal("mutate", mutate, mutants, again, "the same genotypes and key")
            anew = _call_compiled("mutate", eqx.Partial(mutate), key, batch, box)
            same = "the same genotypes and key, compiled anew"
            _check_equal("mutate", mutate, mutants, anew, same)
            if isinstance(mutate, Recombination):
                result = _call_compiled("mutate", mutate.recombine, key, batch, box)
                recombined, mates = check_and_split_mutants_and_mates(mutate, result, len(batch))
                if ((mates < -1) | (mates >= len(batch))).any():
                    raise ValueError(
                        f"recombine must give rows from 0 to {len(batch) - 1}, or -1; "
                        f"{name_function_or_class(mutate)} gave {mates.tolist()}"
                    )
                _check_equal("mutate", mutate, mutants, recombined, "__call__ and recombine")


def check_founders(founders: Founders, box: Box, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with founders, or return.

    Args:
        founders: what draws them.
        box: a genotype space, such as `task.genotype_space`.
        n: how many are drawn, such as the search's `population_size`.

    Raises:
        ValueError: where they are not of shape `(n, p)`, lie outside the box,
            or are others for the same key.
    """
    _check_part_and_box("founders", founders, Founders, box)
    require_integer("n", n)
    for key in jax.random.split(jax.random.key(0), 4):
        drawn, again = (founders(key, n, box) for _ in range(2))
        check_shape("founders", founders, drawn, (n, box.dimension))
        check_genotypes_in_box("founders", founders, jnp.asarray(drawn, jnp.float32), box)
        _check_equal("founders", founders, drawn, again, "the same key")


def check_selection(select: Selection, size: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a selection, or return.

    It selects from twice as many, with random novelty and fitness and with the same for all.

    Args:
        select: the survivor selection.
        size: how many live on.

    Raises:
        ValueError: where it does not compile; where its rows are not `size` distinct integers from
            0 on within the population; and where the same population gives others.
    """
    _check_part_and_box("select", select, Selection)
    require_integer("size", size)
    random = np.random.default_rng(0).normal(size=(4, 2 * size)).astype(np.float32)
    alike = Population.from_descriptors(random[:2].T, first=1000)  # an id is no row
    alike = alike._replace(born=jnp.repeat(jnp.arange(2), size))
    unlike = alike._replace(novelty=jnp.abs(random[2]), fitness=jnp.asarray(random[3]))
    for union in (unlike, alike):
        rows, again = (_call_compiled("select", select, union, size) for _ in range(2))
        check_integers("select", select, rows, size)
        outside = np.asarray((rows < 0) | (rows >= 2 * size))
        if outside.any():
            raise ValueError(
                f"select must give rows from 0 to {2 * size - 1} of a population of {2 * size}; "
                f"{name_function_or_class(select)} gave {np.asarray(rows)[outside][0]}"
            )
        check_survivors_distinct(select, take_rows(union, rows))
        _check_equal("select", select, rows, again, "the same population")
    anew = _call_compiled("select", eqx.Partial(select), union, size)
    _check_equal("select", select, rows, anew, "the same population, compiled anew")


def _check_part_and_box(name: str, part: Any, contract: type, box: Box | None = None) -> None:
    """Refuse what is no such part, or no box; of code that was edited nothing compiled is left."""
    check_part(name, part, contract)
    discard_compiled_if_edited(UserCode(part))
    if box is not None and not isinstance(box, Box):
        raise ValueError(f"box must be a brns.Box, such as task.genotype_space; got {box!r:.80}")


def _call_compiled(name: str, operator: Any, *arguments: Any) -> Any:
    """What an operator gives, compiled as the search compiles it."""
    with explain_compile_errors(name, operator):
        return deterministic_jit(operator)(*arguments)


def _check_equal(name: str, operator: Any, result: Any, again: Any, same: str) -> None:
    if not np.array_equal(result, again):
        who = name_function_or_class(operator)
        raise ValueError(f"{name} must give the same for {same}; {who} did not")
