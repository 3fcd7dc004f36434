"""A population over several devices: the bits of one device."""

import pytest
from shell import finished, python

RUNS = """
import jax, numpy as np, brns
task = brns.LinearProjection(4)
found = []
for each in (task, brns.Sharded(task)):
    search = brns.NoveltySearch(each, population_size=10, offspring_size=7)
    (record,) = brns.run(search, 2, progress=False)
    brns.resume(record.path, 4, search=search, progress=False)
    batch = brns.run(search, 2, seeds=2, progress=False)
    found.append([record.population(), *(one.population() for one in batch)])
assert brns.Record(record.path).search.task == task
jax.tree.map(np.testing.assert_array_equal, found[0][0], found[1][0])
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), *found)
"""


@pytest.mark.slow
def test_three_devices_give_the_bits_of_one():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3", "JAX_PLATFORMS": "cpu"}
    ended = finished(python("-c", RUNS, **flags))
    assert ended.returncode == 0, ended.stderr
