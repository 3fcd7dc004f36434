"""A generation over several devices: each evaluates its part of the individuals."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Key

from brns.checks.parts import check_part
from brns.core import Box, Evaluation, Task
from brns.core.evaluation import as_evaluation

INDIVIDUALS = PartitionSpec("individuals")


class Wrapper(eqx.Module):
    """A task that is another one, but for what a subclass changes."""

    task: Task
    """what is evaluated"""

    def __check_init__(self):
        check_part("task", self.task, Task)

    @property
    def genotype_space(self) -> Box:
        return self.task.genotype_space

    @property
    def behavior_space(self) -> Box:
        return self.task.behavior_space

    @property
    def traceable(self) -> bool:
        return self.task.traceable

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        return self.task.evaluate(genotypes, key)


class Sharded(Wrapper):
    """A task in JAX whose individuals are evaluated side by side on `devices` devices.

    What follows an evaluation is shared out by JAX: novelty by individuals, the task's arrays and
    the estimator's state on every device. The bits are those of one device for the tasks here; a
    task whose matrix products round by the size of a batch, such as `JaxEnvironmentTask`, differs
    by as much. A record names the task alone, whoever evaluated it.

    Args:
        task: in JAX.
        devices: how many, the first of `jax.devices()`; by default all.

    Raises:
        ValueError: where the task is no JAX code, or where there are fewer devices.
    """

    mesh: Mesh = eqx.field(static=True)
    """the devices"""

    def __init__(self, task: Task, devices: int | None = None):
        many = jax.device_count() if devices is None else devices
        if not task.traceable:
            raise ValueError(
                f"only JAX code goes on devices; for {task!r} there are brns.Processes and "
                "brns.Dask"
            )
        if not 1 <= many <= jax.device_count():
            raise ValueError(
                f"devices must be 1 to {jax.device_count()}, as many as JAX has; got {devices}"
            )
        first = jax.devices()[:many]
        self.mesh = jax.make_mesh((many,), ("individuals",), (AxisType.Auto,), devices=first)
        self.task = eqx.filter_shard(task, NamedSharding(self.mesh, PartitionSpec()))

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """The task's own evaluation, on all devices; see `Task.evaluate`."""
        n = len(genotypes)
        filled = jnp.pad(genotypes, ((0, -n % self.mesh.size), (0, 0)), mode="edge")
        specs = INDIVIDUALS, PartitionSpec()
        shard = jax.shard_map(
            self._evaluate_part,
            mesh=self.mesh,
            in_specs=specs,
            out_specs=INDIVIDUALS,
            check_vma=False,
        )
        return Evaluation(*(column[:n] for column in shard(filled, key)))

    def _evaluate_part(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        evaluation = self.task.evaluate(genotypes, key)
        return as_evaluation(evaluation, len(genotypes), self.task)
