"""The cache of compiled code: on by default in Python, wherever JAX comes from, and a user's own choice stays."""

import os
import subprocess
import sys
import types

from brns.compiled import DIRECTORY, SECONDS, keep

CODE = """
import jax
jax.jit(lambda x: x + 1)(1.0)
import brns
search = brns.NoveltySearch(brns.PlanarArm(), brns.ArchiveKNN(k=3, capacity=20), 8, 8)
search.init(jax.random.key(0))
"""


def test_what_is_compiled_is_kept_also_where_jax_came_first_and_compiled_already(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in (DIRECTORY, SECONDS)}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), SECONDS: "0"}
    subprocess.run([sys.executable, "-c", CODE], check=True, env=environment)
    assert [file for file in tmp_path.rglob("*-cache") if "brns" in file.parts]


def test_the_place_that_a_user_chose_stays(monkeypatch):
    monkeypatch.setenv(DIRECTORY, "mine")
    keep()
    assert os.environ[DIRECTORY] == "mine"
    monkeypatch.delenv(DIRECTORY)
    config = types.SimpleNamespace(jax_compilation_cache_dir="told to JAX")
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(config=config))
    keep()
    assert DIRECTORY not in os.environ


def test_a_place_of_the_users_own_cache_is_the_default(monkeypatch, tmp_path):
    for name in (DIRECTORY, SECONDS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "no folder" / name)
    (tmp_path / "no folder").touch()
    keep()
    assert DIRECTORY not in os.environ
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    keep()
    told = {name: os.environ.pop(name) for name in (DIRECTORY, SECONDS)}
    assert told[DIRECTORY] == str(tmp_path / "brns" / "compiled")
    assert told[SECONDS] == "0.1"
