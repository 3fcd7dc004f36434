"""The cache of compiled code: limited, left out where it cannot be used, and nobody's choice
before it is replaced."""

import errno
import os
import warnings

import jax
import platformdirs
import pytest
from files import refusing

from brns.runs import compilation_cache


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
    compilation_cache.compilation_cache.reset_cache()
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    yield jax.config
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.compilation_cache.reset_cache()


def test_what_was_compiled_is_kept_and_a_users_place_stays(cache, tmp_path):
    cache.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.jit(lambda x: x + 1)(1.0)  # JAX settles that there is none
    compilation_cache.enable_compilation_cache()
    folder = tmp_path / "brns" / "programs"
    assert cache.jax_compilation_cache_dir == str(folder)
    assert cache.jax_compilation_cache_max_size == 2**27
    jax.jit(lambda x: x - 1)(1.0)
    assert list(folder.glob("*-cache"))
    cache.update("jax_compilation_cache_dir", "mine")
    compilation_cache.enable_compilation_cache()
    assert cache.jax_compilation_cache_dir == "mine"


def homeless(name):
    raise RuntimeError("could not determine the home directory")


@pytest.mark.parametrize(
    ("what", "replacement"),
    [
        ("platformdirs.user_cache_path", homeless),
        ("fcntl.flock", refusing(errno.ENOSPC)),
        ("pathlib.Path.mkdir", refusing(errno.ENOSPC)),
        ("os.fstatvfs", lambda file: os.statvfs_result((4096, 4096, *[10] * 8))),
    ],
)
def test_a_cache_that_cannot_be_used_is_told_once_and_not_used(
    what, replacement, cache, monkeypatch
):
    monkeypatch.setattr(what, replacement)
    with pytest.warns(UserWarning, match="compiled code is not kept"):
        compilation_cache.enable_compilation_cache()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compilation_cache.enable_compilation_cache()
    assert cache.jax_compilation_cache_dir is None


def test_a_program_that_a_killed_process_left_in_part_is_removed(cache, tmp_path):
    folder = tmp_path / "brns" / "programs"
    folder.mkdir(parents=True)
    for name in ("part-cache", "whole-cache", "whole-atime"):
        (folder / name).write_bytes(bytes(8))
    compilation_cache.enable_compilation_cache()
    assert sorted(file.name for file in folder.iterdir()) == ["whole-atime", "whole-cache"]
