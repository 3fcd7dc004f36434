"""Compiled code, kept between processes: a second start is quick."""

import errno
import fcntl
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import jax
import platformdirs
from jax.experimental.compilation_cache import compilation_cache

LARGEST = 2**27
"""bytes; beyond them what was not used for longest goes"""
SHORTEST = 0.1
"""seconds that compiling must take to be kept, where JAX's own 1.0 was not changed"""
PROBE = 2**20
"""bytes that are written to see whether a folder takes any"""


def enable_compilation_cache() -> None:
    """Let JAX keep what it compiles in this user's cache, where nobody told it of another place.

    It is asked when a run begins, since importing brns changes nothing of the process.
    `JAX_ENABLE_COMPILATION_CACHE=false` in the environment keeps nothing.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:
        return
    try:
        folder = platformdirs.user_cache_path("brns") / "programs"
        make_and_check_cache_folder(folder)
    except (OSError, RuntimeError) as error:  # platformdirs' own is the second
        warnings.warn(
            f"compiled code is not kept, and each start compiles anew ({error}): name a folder "
            "that can be written in JAX_COMPILATION_CACHE_DIR, or set "
            "JAX_ENABLE_COMPILATION_CACHE=false",
            stacklevel=2,
        )
        config.update("jax_enable_compilation_cache", False)  # so that it is said once
        return
    config.update("jax_compilation_cache_dir", str(folder))
    if config.jax_compilation_cache_max_size == -1:
        config.update("jax_compilation_cache_max_size", LARGEST)
    if config.jax_persistent_cache_min_compile_time_secs == 1.0:
        config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST)
    # it may have settled, at a first compilation, that there is none
    compilation_cache.reset_cache()


def make_and_check_cache_folder(folder: Path) -> None:
    """An `OSError` where a folder cannot be a cache of XLA's.

    Programs that a killed process or a full disk left in part go, since JAX would fail at them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(bytes(PROBE))
        file.flush()
        space = os.fstatvfs(file.fileno())
    if space.f_bavail * space.f_frsize < LARGEST:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    for program in folder.glob("*-cache"):
        if not program.with_name(program.name.removesuffix("cache") + "atime").exists():
            program.unlink(missing_ok=True)
