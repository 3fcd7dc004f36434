"""How well each novelty tells what was visited: rank correlations in worlds of the suite, as a table and a picture.

    python benchmarks/calibration.py [WORLDS] [--seeds 5] [--out results/worlds/calibration]

Makes OUT.md and OUT.png. `brns.comparison.calibration` says what is measured.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from brns import NoveltySearch
from brns.comparison.calibration import Calibration, calibrated
from brns.comparison.markdown import provenance_text, table
from brns.comparison.worlds import world
from brns.pictures.methods import colors_of
from brns.pictures.style import STYLE, legend_below, save
from brns.runs.provenance import here
from brns.runs.storage import write_bytes
from brns.settings import parts

METHODS = ("archive", "exact", "recognition", "paper", "population", "density", "hashing", "coins")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=["maze", "rooms-2", "arm", "arm-joints"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/worlds/calibration"))
    asked = parser.parse_args()
    found = {name: dict(measured(name, asked.seeds)) for name in asked.worlds}
    rows = [["world", "novelty", *(f"{what}, {when}" for what in ("distance", "rarity") for when in ("middle", "end"))]]
    for name, methods in found.items():
        rows += [[world(name).title, method, *told(one)] for method, one in methods.items()]
    text = (
        "# What each novelty knows of the past\n\nSpearman's rank correlation between novelty and the truth, over 500 "
        "probes of each run, mean ± deviation over seeds: with the mean distance to the 15 nearest of everything "
        "seen, and with how seldom the probe's cell was visited. 1 is the order of the truth.\n\n"
        f"{table(rows)}\n\n![Over a run]({asked.out.name}.png)\n\n"
        f"{provenance_text({'provenance': here(), 'scale': f'{asked.seeds} seeds.'})}\n"
    )
    write_bytes(asked.out.with_name(f"{asked.out.name}.md"), text.encode())
    save(picture(found), asked.out.with_name(f"{asked.out.name}.png"), overwrite=True, dpi=110)


def measured(name: str, seeds: int):
    for method in METHODS:
        one = world(name)
        estimator = parts("estimator", "preset")[method].load()()
        search = NoveltySearch(one.task(), estimator, one.individuals, one.individuals)
        yield method, calibrated(search, one.cells, one.generations, list(range(seeds)))
        print(name, method, flush=True)


def told(one: Calibration) -> list[str]:
    """Mean and deviation in the middle of the run and at its end."""
    columns = [values[:, k] for values in (one.distance, one.rarity) for k in (len(one.generation) // 2 - 1, -1)]
    return [f"{np.nanmean(c):.2f} ± {np.nanstd(c, ddof=1):.2f}" for c in columns]


def picture(found: dict[str, dict[str, Calibration]]) -> Figure:
    """A column a world, a line a method."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * len(found), 5.6), layout="constrained")
        axes = figure.subplots(2, len(found), squeeze=False, sharey="row", sharex="col")
        for column, (name, methods) in enumerate(found.items()):
            for method, one in methods.items():
                title = parts("estimator", "preset")[method].title
                color = colors_of([title])[title]
                for row, values in enumerate((one.distance, one.rarity)):
                    line = np.nanmean(values, axis=0)
                    axes[row, column].plot(one.generation, line, label=method, color=color, lw=1.4)
            axes[0, column].set_title(world(name).title)
            axes[1, column].set_xlabel("generation")
        axes[0, 0].set_ylabel("rank correlation\nwith the distance to all seen")
        axes[1, 0].set_ylabel("rank correlation\nwith the rarity of the cell")
        legend_below(figure)
    return figure


if __name__ == "__main__":
    main()
