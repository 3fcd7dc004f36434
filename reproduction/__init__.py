"""The paper's experiments: runs, statistics, figures, and a page of claims and measurements.

    python -m reproduction maze --scale paper --out results

OUT/runs/           the records, by part, method and seed; large, and needed only to go on
OUT/maze/           results.json, curves.csv and figures, as in ablation/, ant/ and timing/
OUT/README.md       the page, written from those

The command goes on where it was stopped. It runs in a checkout; `brns` knows nothing of it.
"""
