"""Compiled code, kept between processes: a second start is as quick in Python as on the command line."""

from typing import Any

import jax
import platformdirs
from jax.experimental.compilation_cache import compilation_cache

LARGEST = 2**27
"""bytes; beyond them what was not used for longest goes"""
SHORTEST = 0.1
"""seconds that compiling must take to be kept, where JAX's own 1.0 was not changed"""


def keep() -> None:
    """Let JAX keep what it compiles in this user's cache, where nobody told it of another place.

    It is asked when a run begins, since importing brns changes nothing of the process.
    `JAX_ENABLE_COMPILATION_CACHE=false` in the environment keeps nothing.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir is not None:
        return
    folder = platformdirs.user_cache_path("brns") / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written
        return
    config.update("jax_compilation_cache_dir", str(folder))
    if config.jax_compilation_cache_max_size == -1:
        config.update("jax_compilation_cache_max_size", LARGEST)
    if config.jax_persistent_cache_min_compile_time_secs == 1.0:
        config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST)
    compilation_cache.reset_cache()  # it may have settled, at a first compilation, that there is none
