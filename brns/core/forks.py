"""Processes that were forked after JAX had begun: there it would wait for ever for its threads."""

import os
import sys

_FORKS: list[None] = []
"""one for each fork, that led to this process, of one in which JAX had begun"""


def _count_fork_if_jax_had_begun() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if getattr(bridge, "_backends", True):
        _FORKS.append(None)


os.register_at_fork(after_in_child=_count_fork_if_jax_had_begun)


def count_forks() -> int:
    """How often this process, or one that it is a fork of, was forked since JAX began."""
    return len(_FORKS)


def check_not_forked(what: str) -> None:
    """Refuse what needs JAX in a process that was forked after JAX had begun."""
    if count_forks():
        raise RuntimeError(
            f"{what} does not work in a fork of a process that used JAX, which would wait for ever "
            'here: spawn processes, by multiprocessing.get_context("spawn")'
        )
