"""Where numbers come from: brns' own commit and no other, and what computed."""

import subprocess

import jax

import brns
from brns.runs import provenance


def git(*arguments, folder):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_repository_that_only_surrounds_brns_is_not_its_commit(tmp_path, monkeypatch):
    def commit_of(folder):
        """What a copy of brns in a folder says of its commit."""
        monkeypatch.setattr(provenance, "__file__", str(folder / "brns" / "runs" / "provenance.py"))
        return provenance.find_brns_commit_or_version.__wrapped__()

    (tmp_path / "paper.tex").write_text("A paper.")
    git("init", folder=tmp_path)
    git("add", "paper.tex", folder=tmp_path)
    git("commit", "-m", "One", folder=tmp_path)
    head = git("rev-parse", "HEAD", folder=tmp_path)[:12]
    assert commit_of(tmp_path) == head
    (tmp_path / "paper.tex").write_text("Another.")
    assert commit_of(tmp_path) == head + "+"
    assert commit_of(tmp_path / ".venv" / "lib") == f"version {brns.__version__}"


def test_a_run_names_its_device_and_what_the_compiler_was_told(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    facts = provenance.collect_provenance()
    assert facts["xla_flags"] == "--xla_cpu_enable_fast_math=false"
    with jax.enable_x64(True), jax.threefry_partitionable(False):
        flags = provenance.collect_provenance()["xla_flags"]
    assert flags.endswith("=false jax_threefry_partitionable=False jax_enable_x64=True")
    (device, *_) = jax.devices()
    kind = f" ({device.device_kind})" if device.device_kind != device.platform else ""
    assert facts["device"] == device.platform + kind
