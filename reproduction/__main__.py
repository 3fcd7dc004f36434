"""`python -m reproduction`: run the paper's experiments, or go on with them, and write the page."""

import argparse
import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from brns.tasks.cpu import cores, one_thread
from reproduction import page
from reproduction.parts import PARTS, Asked
from reproduction.plan import SCALES


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument(
        "what", choices=[*PARTS, "all", "page"], help="a part, all, or the page of what is there"
    )
    parser.add_argument(
        "--scale", choices=SCALES, default="smoke", help="minutes, hours, or the paper's (days)"
    )
    parser.add_argument("--out", type=Path, help="directory (default: runs/reproduction-SCALE)")
    parser.add_argument(
        "--workers", type=int, default=cores(), help="searches side by side (default: all cores)"
    )
    asked = parser.parse_args(arguments)
    out = asked.out or Path("runs") / f"reproduction-{asked.scale}"
    try:
        page.check(out)
        whole = Asked(out, asked.scale, SCALES[asked.scale], asked.workers)
        parts = {"all": list(PARTS), "page": []}.get(asked.what, [asked.what])
        for part in parts:
            PARTS[part](whole)
            page.write(out)
        print(f"Page: {page.write(out)}")
    except ValueError as error:
        sys.exit(str(error))
    except (KeyboardInterrupt, BrokenProcessPool) as error:
        sys.exit(f"stopped ({error!r}); what was computed is saved: the same command goes on")


if __name__ == "__main__":
    os.environ |= one_thread()  # before JAX begins, here and in the processes begun here
    main(sys.argv[1:])
