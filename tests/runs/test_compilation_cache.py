"""The cache of compiled code: limited, left out where it cannot be used, and nobody's choice
before it is replaced."""

import errno
import os
import subprocess
import sys
import warnings

import jax
import platformdirs
import pytest

from brns.runs import compilation_cache

CODE = """
import os, sys
before = dict(os.environ)
import brns
assert dict(os.environ) == before and "jax" not in sys.modules
import jax
from brns.runs import compilation_cache
jax.jit(lambda x: x + 1)(1.0)
compilation_cache.keep()
jax.jit(lambda x: x - 1)(1.0)
print(jax.config.jax_compilation_cache_dir, jax.config.jax_compilation_cache_max_size)
jax.config.update("jax_compilation_cache_dir", "mine")
compilation_cache.keep()
print(jax.config.jax_compilation_cache_dir)
"""


def test_what_was_compiled_is_kept_and_a_users_place_stays(tmp_path):
    told = {name: value for name, value in os.environ.items() if "COMPILATION_CACHE" not in name}
    told |= {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    told |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    command = [sys.executable, "-c", CODE]
    told_of = {"env": told, "cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run(command, check=True, **told_of)
    folder = tmp_path / "brns" / "programs"
    assert done.stdout.split() == [str(folder), str(2**27), "mine"]
    assert list(folder.glob("*-cache"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """JAX was told of no cache; and its settings are put back."""
    names = [
        "jax_compilation_cache_dir",
        "jax_compilation_cache_max_size",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_enable_compilation_cache",
    ]
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    yield jax.config
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.compilation_cache.reset_cache()


def homeless(name):
    raise RuntimeError("could not determine the home directory")


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("what", "replacement"),
    [
        ("platformdirs.user_cache_path", homeless),
        ("fcntl.flock", full),
        ("pathlib.Path.mkdir", full),
        ("os.fstatvfs", lambda file: os.statvfs_result((4096, 4096, *[10] * 8))),
    ],
)
def test_a_cache_that_cannot_be_used_is_told_once_and_not_used(
    what, replacement, cache, monkeypatch
):
    monkeypatch.setattr(what, replacement)
    with pytest.warns(UserWarning, match="compiled code is not kept"):
        compilation_cache.keep()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compilation_cache.keep()
    assert cache.jax_compilation_cache_dir is None
