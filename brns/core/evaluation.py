"""What a task or an operator returned, in the form that the search needs."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from brns.core.box import as_array_and_check_real, cast_to_float32
from brns.core.contracts import Task
from brns.core.population import Evaluation


def as_evaluation(evaluation: Any, n: int, task: Task) -> Evaluation:
    """The evaluation as float32 and bool columns of n rows; a `ValueError`, which names the task,
    where it is none of n genotypes.

    One value of fitness, `solved` or `failed` is everyone's; None, as of a task without a fitness,
    is the default.
    """
    must = f"{type(task).__name__}.evaluate of {n} genotypes must return"
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"{must} a brns.Evaluation; got {type(evaluation).__name__}")
    columns = {"descriptor": as_array_and_check_real("descriptor", evaluation.descriptor, must)}
    for name, default in Evaluation._field_defaults.items():
        value = getattr(evaluation, name)
        column = as_array_and_check_real(name, default if value is None else value, must)
        everyone = np.full if isinstance(column, np.ndarray) else jnp.full
        columns[name] = column if column.ndim else everyone(n, column)
    for name, column in columns.items():
        shape = (n, task.behavior_space.dimension) if name == "descriptor" else (n,)
        if column.shape != shape:
            raise ValueError(f"{must} {name} of shape {shape}; got {column.shape}")
    for name in ("solved", "failed"):
        if columns[name].dtype != bool:
            raise ValueError(
                f"{must} {name} as bools, as in distance < 40; got {columns[name].dtype}"
            )
    for name in ("descriptor", "fitness"):
        columns[name] = cast_to_float32(columns[name])
    return Evaluation(**{name: jnp.asarray(column) for name, column in columns.items()})


def name_function_or_class(part: Any) -> str:
    return getattr(part, "__name__", type(part).__name__)


def check_shape(name: str, part: Any, actual: Any, expected: tuple[int, ...]) -> None:
    """Refuse what a part gave where it has another shape, or is no array of real numbers."""
    source = name_function_or_class(part)
    array = as_array_and_check_real("an array", actual, f"{name} ({source}) must give")
    if array.shape != expected:
        got = f"{source} gave {array.shape}"
        raise ValueError(f"{name} must give an array of shape {expected}; {got}")
