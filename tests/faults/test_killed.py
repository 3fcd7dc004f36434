"""Processes killed at any moment."""

import math
import os
import random
import signal
import time
from collections import Counter

import pytest
from files import bits
from searches import HOST
from shell import begin, finished
from small import ANT, MAZE

from brns import Record, RecordError
from brns.runs.loop import resume, run


def killable(*arguments, folder):
    """The command line, whose half-written compilation cache harms no other test."""
    return begin(*arguments, folder=folder, JAX_COMPILATION_CACHE_DIR=str(folder / "cache"))


def last(out):
    """The last generation that is on disk; None where a run would have to start anew."""
    return Record(out).last_generation if (out / "run.json").exists() else None


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "kills"), [(MAZE, 50), (ANT, 10)])
def test_a_run_killed_again_and_again_ends_in_the_same_bits(experiment, kills, tmp_path):
    """kill -9 while it starts or some generations later, and each time `brns resume`."""
    moment, out, starting, met = random.Random(0), tmp_path / "killed", math.inf, Counter()
    for _ in range(kills):
        before = last(out)
        begin = [*experiment, "--generations", 100_000, "--out", out]
        again = begin if before is None else ["resume", out]
        began, process = time.monotonic(), killable(*again, folder=tmp_path)
        if starting < math.inf and moment.random() < 0.5:
            time.sleep(moment.uniform(0, 1.2 * starting))
        else:
            number = (before or 0) + moment.randint(1, 20)
            awaited = out / "generations" / f"{number:06d}.npz"
            while not awaited.exists() and process.poll() is None:
                time.sleep(0.001)
            starting = min(starting, time.monotonic() - began)  # the first one compiles
            time.sleep(moment.uniform(0, 0.05))
        process.kill()
        _, said = process.communicate()
        assert process.returncode == -signal.SIGKILL, said
        met["starting" if last(out) == before else "searching"] += 1
    assert met["searching"] > kills / 4
    total = last(out) + 2
    for command in (["resume", out], [*experiment, "--out", tmp_path / "whole"]):
        ended = finished(killable(*command, "--generations", total, folder=tmp_path))
        assert ended.returncode == 0, ended.stderr
    assert Record(out).generations[-1] == total
    assert bits(out) == bits(tmp_path / "whole")


class Death(BaseException):
    """The process ends here: nothing catches it."""


def dying(function, steps, alive):
    """The function, before which the process dies after so many such steps."""

    def step(*arguments, **keywords):
        steps.append(function.__name__)
        if len(steps) > alive:
            raise Death
        return function(*arguments, **keywords)

    return step


def names(path):
    return {str(file.relative_to(path)) for file in path.rglob("*")}


@pytest.mark.slow
def test_whatever_step_of_its_saves_a_run_dies_before_it_resumes(tmp_path, monkeypatch):
    """Every call that makes, syncs, renames or removes a file in turn."""
    run(HOST, 1, out=tmp_path / "whole")
    whole, anew = (bits(tmp_path / "whole"), names(tmp_path / "whole")), 0
    for alive in range(1000):
        out, steps = tmp_path / f"after{alive}", []
        with monkeypatch.context() as patch:
            for name in ("mkdir", "fsync", "replace", "unlink"):
                patch.setattr(os, name, dying(getattr(os, name), steps, alive))
            try:
                run(HOST, 1, out=out)
            except Death:
                pass
            else:
                break
        if last(out) is None:
            anew += 1
            with pytest.raises(RecordError, match="is not a run"):
                resume(out, search=HOST)
            run(HOST, 1, out=out)
        else:
            resume(out, search=HOST)
        assert (bits(out), names(out)) == whole, f"died before its step {alive}, {steps[-1]}"
    assert alive > 25
    assert anew < 24
