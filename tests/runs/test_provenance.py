"""Where numbers come from: brns' own commit and no other, and what computed."""

import importlib.util
import json
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import jax
import pytest
from searches import search

from brns.runs import provenance
from brns.runs.loop import run


def git(*arguments, folder):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def installed(tmp_path):
    """A repository of somebody's, with brns in an environment in it; and what brns there says of its commit."""
    file = tmp_path / ".venv" / "lib" / "brns" / "runs" / "provenance.py"
    file.parent.mkdir(parents=True)
    shutil.copy(provenance.__file__, file)
    (tmp_path / "paper.tex").write_text("A paper.")
    git("init", folder=tmp_path)
    git("add", "paper.tex", folder=tmp_path)
    git("commit", "-m", "One", folder=tmp_path)

    def commit():
        spec = importlib.util.spec_from_file_location("installed", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.commit()

    return tmp_path, commit


def test_a_repository_that_only_surrounds_brns_is_not_its_commit(installed):
    folder, commit = installed
    assert commit() == f"version {metadata.version('brns')}"
    git("add", ".venv", folder=folder)
    git("commit", "-m", "Two", folder=folder)
    assert commit() == git("rev-parse", "HEAD", folder=folder)[:12]
    (folder / "paper.tex").write_text("Another.")
    assert commit() == git("rev-parse", "HEAD", folder=folder)[:12] + "+"


def test_a_run_names_its_device_and_what_the_compiler_was_told(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    run(search(), 1, out=tmp_path / "run")
    facts = json.loads((Path(tmp_path) / "run" / "run.json").read_text())
    assert facts["xla_flags"] == "--xla_cpu_enable_fast_math=false"
    (device, *_) = jax.devices()
    kind = f" ({device.device_kind})" if device.device_kind != device.platform else ""
    assert facts["device"] == device.platform + kind
