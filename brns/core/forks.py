"""Processes that were forked after JAX had begun: there it would wait for ever for its threads."""

import os
import sys

_FORKS: list[None] = []
"""not empty in a process that was forked, or is a fork of one that was, after JAX had begun"""


def _remember_fork_if_jax_had_begun() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if getattr(bridge, "_backends", True):
        _FORKS.append(None)


os.register_at_fork(after_in_child=_remember_fork_if_jax_had_begun)


def is_forked() -> bool:
    """Whether this process, or one that it is a fork of, was forked after JAX had begun."""
    return bool(_FORKS)


def check_not_forked(what: str) -> None:
    """Refuse what needs JAX in a process that was forked after JAX had begun."""
    if is_forked():
        raise RuntimeError(
            f"{what} does not work in a fork of a process that used JAX, which would wait for ever "
            'here: spawn processes, by multiprocessing.get_context("spawn")'
        )
