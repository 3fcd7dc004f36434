"""Scripts that evaluate in processes, run as a person runs them."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

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
