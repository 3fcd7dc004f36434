"""Compiled code, kept between processes: a second start is as quick in Python as on the command line."""

import os
import sys

DIRECTORY = "JAX_COMPILATION_CACHE_DIR"
SECONDS = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
SHORTEST = 0.1  # seconds that compiling must take to be kept


def keep() -> None:
    """Let JAX keep what it compiles in this user's cache, where nobody told it of another.

    It is told by variables, which worker processes inherit and JAX reads when it is imported; where that was before us,
    it is told itself. `JAX_ENABLE_COMPILATION_CACHE=false` in the environment keeps nothing.
    """
    jax = sys.modules.get("jax")
    if DIRECTORY in os.environ or (jax is not None and jax.config.jax_compilation_cache_dir is not None):
        return
    import platformdirs

    folder = platformdirs.user_cache_path("brns") / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written
        return
    os.environ[DIRECTORY] = str(folder)
    shortest = float(os.environ.setdefault(SECONDS, str(SHORTEST)))
    if jax is not None:
        from jax.experimental.compilation_cache import compilation_cache

        jax.config.update("jax_compilation_cache_dir", os.environ[DIRECTORY])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", shortest)
        compilation_cache.reset_cache()  # it may have settled, at a first compilation, that there is none
