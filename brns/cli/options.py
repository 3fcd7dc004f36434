"""The arguments and options of commands."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from brns.settings.parts import RECOMMENDED, parts

Experiment = Annotated[
    str,
    typer.Argument(
        help=f"{', '.join(parts('task'))}; or a task or search of your own as module:object"
    ),
]
Directory = Annotated[Path, typer.Argument(help="a run's directory, or that of a batch of seeds")]
Directories = Annotated[list[Path], typer.Argument(help="directories of runs or batches of seeds")]
Estimator = Annotated[
    str | None,
    typer.Option(
        help=f"the novelty: {', '.join(parts('estimator', 'preset'))}", show_default=RECOMMENDED
    ),
]
OutDir = Annotated[
    Path | None, typer.Option(help="directory", show_default="runs/NAME-ESTIMATOR-CHANGES-seedK")
]
CheckpointEvery = Annotated[
    int,
    typer.Option(
        min=1, help="keep every Nth state for statistics; 1 keeps all, the last always stays"
    ),
]
Genotypes = Annotated[
    Literal["survivors", "all"],
    typer.Option(
        metavar="survivors|all",
        help="whose genotypes are stored; others can be recomputed with the same versions on the "
        "same kind of machine",
    ),
]
Edited = Annotated[bool, typer.Option("--accept-edits", help="go on with your edited code")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="change a setting, such as population_size=50, or an operator, such as "
        "mutate=gaussian; repeatable",
    ),
]
Total = Annotated[int | None, typer.Option(min=1, help="how many in all", show_default="planned")]
Until = Annotated[
    Literal["saturated"] | None,
    typer.Option(metavar="saturated", help="end early, when hardly anything is new"),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N|ADDRESS",
        help="evaluate in N processes, bit-identical for any N (the maze is faster without), or "
        "on the Dask cluster of the scheduler at ADDRESS, such as tcp://10.0.0.1:8786",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="stop if a worker takes longer for its 4 individuals"),
]
Failures = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        min=0,
        max=0.99,
        help="go on without individuals that fail, up to this share of a generation, such as 0.1",
        show_default="stop",
    ),
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="add what workers print to a file")]
Search = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        metavar="MODULE:OBJECT",
        help="the search or task that made runs with parts of your own; repeatable; imports your "
        "code",
    ),
]
