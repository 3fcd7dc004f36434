"""The cache of compiled code: limited, and nobody's choice before it is replaced."""

import os
import subprocess
import sys

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
