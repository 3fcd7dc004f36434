"""Where numbers come from: the command, the commit, the versions, the machine."""

import contextlib
import functools
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from brns import __version__
from brns.checks.parts import JAX_DEFAULTS
from brns.search import NoveltySearch
from brns.settings.sources import UserCode
from brns.tasks.chunked import unwrap_task
from brns.tasks.cpu import count_cores

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy")


def collect_provenance() -> dict[str, Any]:
    """The command, commit, machine, device, versions, and unusual settings of XLA and JAX."""
    unusual = [
        f"{name}={getattr(jax.config, name)}"
        for name, usual in JAX_DEFAULTS.items()
        if getattr(jax.config, name) != usual
    ]
    return {
        "command": format_command(),
        "commit": find_brns_commit_or_version(),
        "machine": {
            "processor": _find_processor_name(),
            "cores": count_cores(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "device": describe_device(),
        "xla_flags": " ".join([os.environ.get("XLA_FLAGS", ""), *unusual]).strip(),
        "versions": {**_find_versions(), "python": platform.python_version()},
    }


def format_command() -> str:
    """What was called, as one calls it: brns, what stands beside it, or another script."""
    script = Path(sys.argv[0])
    folder = script.parent.name
    program = f"python {folder}/{script.name}" if folder == "benchmarks" else script.name
    if program == "__main__.py":
        program = "brns" if folder == "brns" else f"python -m {folder}"
    text = f"{program} {shlex.join(sys.argv[1:])}".rstrip()
    return text.encode("utf-8", "backslashreplace").decode()  # names of files may be any bytes


@functools.cache  # of what was imported, whatever is edited while it runs
def find_brns_commit_or_version() -> str:
    """The commit of brns' checkout, with a plus sign where it was changed; else the version."""
    checkout = Path(__file__).parents[2]
    options = ["--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    command = ["git", "-C", str(checkout), "describe", *options]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if (checkout / ".git").exists():  # a repository further up is somebody else's
            said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
            return said.stdout.strip()
    return f"version {__version__}"


@functools.cache  # of what was imported
def _find_versions() -> dict[str, str]:
    return {"brns": __version__, **{name: metadata.version(name) for name in PACKAGES}}


def describe_device() -> str:
    """What JAX computes on, such as `cpu` or `gpu (NVIDIA H200)`."""
    first = jax.devices()[0]
    kind = "" if first.device_kind == first.platform else f" ({first.device_kind})"
    return first.platform + kind


@functools.cache
def _find_processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor()) or "unknown"


def read_sources(search: NoveltySearch, *others: Any) -> UserCode:
    """The user's own code in a search, and in what else decides what it finds, as it is now."""
    operators = search.mutate, search.select, search.founders
    return UserCode(unwrap_task(search.task), search.estimator, *operators, *others)


def group_by_provenance(answers: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Each different provenance once, with the names of who gave it as `rows`."""
    groups: dict[str, dict[str, Any]] = {}
    for name, answer in answers:
        group = groups.setdefault(json.dumps(answer, sort_keys=True), {**answer, "rows": []})
        if name not in group["rows"]:
            group["rows"].append(name)
    return list(groups.values())


def format_provenance(facts: Mapping[str, Any]) -> str:
    """What made something in Markdown, whatever of `collect_provenance` is known of it."""
    parts = [f"Commit {facts.get('commit') or 'unknown'}"]
    if facts.get("versions"):
        parts.append(", ".join(f"{name} {version}" for name, version in facts["versions"].items()))
    if machine := facts.get("machine"):
        number = machine["cores"]
        parts.append(f"{machine['processor']}, {number} core{'s' if number > 1 else ''}")
    if facts.get("device"):
        parts.append(f"device {facts['device']}")
    if facts.get("xla_flags"):
        parts.append(f"XLA_FLAGS `{facts['xla_flags']}`")
    return "; ".join(parts) + "."
