"""Every random key that a piece of code uses, so that none is used for two things."""

import contextlib

import jax
from jax._src import random as jax_random


@contextlib.contextmanager
def recorded_keys():
    """A list of what is done with keys meanwhile: drawn from, split, or folded with a number."""
    uses = []
    prng = jax_random.prng
    names = ("random_bits", "random_split", "random_fold_in")
    originals = {name: getattr(prng, name) for name in names}

    def recording(name):
        def use(key, *arguments, **settings):
            number = arguments if name == "random_fold_in" else ()
            jax.debug.callback(
                lambda words, *number: uses.append((name, *map(int, (*words, *number)))),
                jax.random.key_data(key),
                *number,
            )
            return originals[name](key, *arguments, **settings)

        return use

    jax.clear_caches()  # what was traced before records nothing
    for name in names:
        setattr(prng, name, recording(name))
    try:
        yield uses
    finally:
        jax.effects_barrier()
        for name in names:
            setattr(prng, name, originals[name])
        jax.clear_caches()


def reused_keys(uses):
    """The keys that were drawn from or split twice, both, or one of them beside folding."""
    consumed = [use[1:3] for use in uses if use[0] != "random_fold_in"]
    folded = [use[1:] for use in uses if use[0] == "random_fold_in"]
    twice = {key for key in consumed if consumed.count(key) > 1}
    twice |= {use[:2] for use in folded if folded.count(use) > 1}
    return twice | ({use[:2] for use in folded} & set(consumed))
