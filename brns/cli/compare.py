"""`brns compare`: methods side by side, in worlds of the suite or on a task of your own."""

from pathlib import Path
from typing import Annotated

import typer

from brns.cli.modules import enable_import_and_check_module
from brns.settings.parts import SettingsError, find_part, parts

Worlds = Annotated[
    list[str],
    typer.Argument(
        help="suite, or worlds such as arm maze; or a task or search of your own as module:object"
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="a method, or your own as module:object; the first is the reference; repeatable",
        show_default="archive, and all others",
    ),
]
Operators = Annotated[
    list[str] | None,
    typer.Option(help="an operator each method runs with; repeatable", show_default="mixed"),
]


def compare(
    worlds: Worlds,
    estimator: Methods = None,
    mutation: Operators = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="pyribs' methods too (extra peers)")
    ] = False,
    seeds: Annotated[int, typer.Option(min=2, help="how many seeds")] = 20,
    generations: Annotated[
        int | None, typer.Option(min=2, help="how many generations", show_default="the world's own")
    ] = None,
    tessellation: Annotated[
        bool,
        typer.Option(
            "--tessellation",
            help="count cells of descriptor space in place of a world's own; of behaviors that are "
            "not planar in your task these are the default",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="directory; OUT.md is the page")] = Path(
        "runs/comparison"
    ),
) -> None:
    """Compare methods in worlds of the suite, or on a task of your own.

    Ends with a table, a picture and a page. The same command resumes an interrupted comparison;
    with more seeds, methods or worlds it runs only these.
    """
    names = estimator or list(dict.fromkeys(["archive", *parts("estimator", "preset")]))
    for name in (*names, *worlds):
        if ":" in name:
            enable_import_and_check_module(name)
    ours = [name for name in names if ":" not in name]
    methods = {name: find_part("--estimator", name, "estimator", "preset") for name in ours}
    operators = {name: find_part("--mutation", name, "mutation") for name in mutation or ()}
    user_names = [name for name in worlds if ":" in name]
    if user_names and len(worlds) > 1:
        raise SettingsError(f"a task of your own is compared alone: name {user_names[0]} only")
    from rich.markdown import Markdown

    import brns
    from brns.cli.screen import console
    from brns.cli.user_code import load_object_and_call
    from brns.comparison import page
    from brns.comparison.peers import PEERS
    from brns.comparison.worlds import Tessellation
    from brns.runs import compilation_cache

    compilation_cache.enable_compilation_cache()
    estimators, short = {}, [name.rpartition(":")[2] for name in names]
    for name, word in zip(names, short, strict=True):
        made = methods[name].load()() if name in methods else load_object_and_call(name)
        estimators[name if short.count(word) > 1 else word] = made
    estimators |= PEERS if peers else {}
    # One operator of all stands in the title, not in each method's name.
    several = len(operators) > 1
    mutations = {name if several else "": part.load()() for name, part in operators.items()}
    try:
        comparison = brns.compare(
            load_object_and_call(user_names[0]) if user_names else worlds,
            estimators,
            seeds=seeds,
            generations=generations,
            out=out,
            mutations=mutations,
            cells=Tessellation() if tessellation else None,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. Run the command again to go on in {out}.") from None
    table = f"{comparison}\n"
    console.print(Markdown(table) if console.is_terminal else table, soft_wrap=True)
    console.print(
        f"Page: {page.resolve_page_path(out)}\nPicture: {out / 'comparison.png'}", soft_wrap=True
    )
