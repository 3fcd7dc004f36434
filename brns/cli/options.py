"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Directory = Annotated[Path, typer.Argument(help="a run's directory, or the directory of a batch of seeds")]
Directories = Annotated[list[Path], typer.Argument(help="directories of runs or of batches of seeds")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="evaluate in so many processes; any number gives the same bits, the maze is faster without"
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="evaluate on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786"),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="change a setting, such as mutate.rate=0.2; repeatable"),
]
Scalars = Annotated[bool, typer.Option("--tensorboard", help="write TensorBoard's scalars to tensorboard/ in the run")]
Search = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        metavar="MODULE:OBJECT",
        help="of runs with a task or an estimator of your own, the NoveltySearch that made them, or a function that "
        "returns it; repeatable; imports your code",
    ),
]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="stop where a worker takes longer for its 4 individuals")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace what is there already")]
Founders = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npy",
        help="begin with these genotypes, as many as the population has; or with the last population of a run's "
        "directory",
    ),
]
