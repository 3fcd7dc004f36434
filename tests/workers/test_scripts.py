"""Scripts that evaluate in processes, run as a person runs them."""

import os
import pickle
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from worlds import HostIdentity

from brns.workers.pool import portable

SCRIPT = """
import jax, worlds
from brns.workers.processes import Processes

def main():
    task = Processes(worlds.Faulty("{fault}", flag="{flag}"), workers=1)
    genotypes = task.genotype_space.uniform(jax.random.key(0), 8).at[:, 0].set(0.9)
    {before}
    task.evaluate(genotypes, jax.random.key(0))

{guard}
    main()
"""


def script(folder, **parts):
    (folder / "script.py").write_text(textwrap.dedent(SCRIPT).format(flag=folder / "met", **parts))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), str(Path.cwd())])}
    return subprocess.Popen([sys.executable, str(folder / "script.py")], env=environment, stderr=subprocess.PIPE)


PRODUCTS = """
import jax, numpy as np, worlds
from brns.workers.chunks import Chunked
from brns.workers.processes import Processes

if __name__ == "__main__":
    world, key = worlds.Products(), jax.random.key(0)
    genotypes = world.genotype_space.uniform(key, 8)
    with Processes(world, workers=1) as processes:
        there, here = (task.evaluate(genotypes, key).descriptor for task in (processes, Chunked(world)))
    assert np.array_equal(there, here)
    assert np.ptp(here) > 0
"""


@pytest.mark.slow
def test_matrix_products_have_the_same_bits_without_workers_where_one_thread_is_asked_for(tmp_path):
    (tmp_path / "products.py").write_text(PRODUCTS)
    tests = str(Path(__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([tests, str(Path.cwd())]), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, str(tmp_path / "products.py")], env=environment, check=True)


TYPED = """
import equinox as eqx, gymnasium, jax, numpy as np
import brns

SCALE = 300

class Typed(eqx.Module):
    genotype_space: brns.Box = brns.Box([-1.0] * 2, [1.0] * 2)
    behavior_space: brns.Box = brns.Box([0.0, 0.0], [600.0, 600.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        return brns.Evaluation(placed(genotypes), np.zeros(len(genotypes)), np.zeros(len(genotypes), bool))

def placed(genotypes):
    return SCALE + SCALE * np.asarray(genotypes)

line = brns.Box([-1], [1])
pendulum = brns.GymnasiumTask("Pendulum-v1", describe=lambda e: e.observations[-1, :1], behavior_space=line, steps=3)
with brns.Processes(Typed(), workers=1) as spread:
    for task in (Typed(), pendulum):
        genotypes = task.genotype_space.uniform(jax.random.key(0), 5)
        there = eqx.tree_at(lambda p: p.task, spread, task).evaluate(genotypes, jax.random.key(0))
        assert np.array_equal(there.descriptor, task.evaluate(genotypes, jax.random.key(0)).descriptor), task
"""


@pytest.mark.slow
def test_workers_take_what_was_typed_into_a_session():
    """A class, the function and the number that it uses, and a lambda. `-c` is a session: nobody can import it."""
    pytest.importorskip("cloudpickle")
    pytest.importorskip("gymnasium")
    subprocess.run([sys.executable, "-c", TYPED], check=True)


def test_what_can_be_imported_goes_by_name_and_without_cloudpickle_the_rest_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert pickle.loads(portable(HostIdentity())) == HostIdentity()
    nameless = type("Nameless", (HostIdentity,), {"__module__": "__main__"})
    with pytest.raises(ImportError, match=r"Nameless cannot be imported by a worker \(.*pip install cloudpickle"):
        portable(nameless())


@pytest.mark.slow
def test_a_script_without_guard_is_told_what_to_do(tmp_path):
    process = script(tmp_path, fault="hangs", before="pass", guard="if True:")
    assert b'must start under `if __name__ == "__main__":`' in process.communicate()[1]
    assert process.returncode == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
@pytest.mark.parametrize("fault", ["hangs", "holds"])
def test_a_busy_worker_ends_with_a_search_that_was_killed(fault, tmp_path):
    process = script(tmp_path, fault=fault, before="pass", guard='if __name__ == "__main__":')
    threads = Path(f"/proc/{process.pid}/task")
    workers = waited(
        lambda: [p for t in threads.glob("*/children") for p in t.read_text().split() if b"spawn_main" in command(p)]
    )
    waited((tmp_path / "met").exists)
    time.sleep(0.5)
    process.kill()
    process.wait()
    waited(lambda: not any(command(p) for p in workers))


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def waited(condition, seconds=60):
    for _ in range(10 * seconds):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} seconds")
