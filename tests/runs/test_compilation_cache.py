"""The cache of compiled code: used by every run, limited, and nobody's choice before it is replaced."""

import os
import subprocess
import sys

CODE = """
import os, sys
before = dict(os.environ)
import brns
assert dict(os.environ) == before and "jax" not in sys.modules
import jax
jax.jit(lambda x: x + 1)(1.0)
{choice}
search = brns.NoveltySearch(brns.PlanarArm(), brns.VisitCounts(grids=8), 8, 8)
brns.run(search, 1, out=sys.argv[1], progress=False)
print(jax.config.jax_compilation_cache_dir, jax.config.jax_compilation_cache_max_size)
"""


def test_a_run_keeps_what_it_compiled_and_a_users_place_stays(tmp_path):
    """Also where JAX came first and compiled already."""
    told = {name: value for name, value in os.environ.items() if "COMPILATION_CACHE" not in name}
    told |= {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    for choice in ("", "jax.config.update('jax_compilation_cache_dir', 'mine')"):
        command = [sys.executable, "-c", CODE.format(choice=choice), tmp_path / f"run{bool(choice)}"]
        done = subprocess.run(command, check=True, env=told, cwd=tmp_path, capture_output=True, text=True)
        folder, size = done.stdout.split()
        ours = folder == str(tmp_path / "brns" / "programs")
        assert (folder == "mine", int(size)) == ((True, -1) if choice else (False, 2**27))
        assert list((tmp_path / folder).glob("*-cache"))
        assert ours == (not choice)
