"""Where numbers come from: the command, the commit, the versions, the machine."""

import functools
import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("brns", "jax", "jaxlib", "equinox", "optax", "numpy")


def command() -> str:
    """What was called, as one calls it: brns, one of the checkout's benchmarks, or another script."""
    script = Path(sys.argv[0])
    program = f"python {script.parent.name}/{script.name}" if script.parent.name == "benchmarks" else script.name
    return f"{'brns' if program == '__main__.py' else program} {shlex.join(sys.argv[1:])}".rstrip()


@functools.cache  # of what was imported, whatever is edited while it runs
def commit() -> str:
    """The commit of the checkout that brns runs from, with a plus sign where it was changed; else brns' version.

    An installed brns may lie inside a repository of somebody else's, in an environment that git ignores. So the
    repository counts only where it tracks this file.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        _said([*git, "ls-files", "--error-unmatch", Path(__file__).name])
        return _said([*git, "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"])
    except (OSError, subprocess.SubprocessError):
        return f"version {metadata.version('brns')}"


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()


def versions() -> dict[str, str]:
    """Versions of what computes, the kind of machine, and the device: all of them may change a result's last bits."""
    return {name: metadata.version(name) for name in PACKAGES} | {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": device(),
    }


def xla_flags() -> str:
    """What the compiler was told by the environment; it changes the last bits of sums."""
    return os.environ.get("XLA_FLAGS", "")


def device() -> str:
    """What JAX computes on, such as `cpu` or `gpu (NVIDIA H200)`."""
    import jax

    first = jax.devices()[0]
    kind = "" if first.device_kind == first.platform else f" ({first.device_kind})"
    return first.platform + kind
