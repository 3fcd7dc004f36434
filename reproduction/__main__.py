"""`python -m reproduction`: run the paper's experiments, or go on with them, and write the page."""

import argparse
import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from brns.__main__ import configure_logging
from brns.tasks.cpu import count_cores, make_one_thread_variables
from reproduction import page, pictures
from reproduction.parts import PARTS, Request
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
    words = "searches side by side (default: all cores)"
    parser.add_argument("--workers", type=int, default=count_cores(), help=words)
    options = parser.parse_args(arguments)
    out = options.out or Path("runs") / f"reproduction-{options.scale}"
    try:
        page.check_has_results(out)
        request = Request(out, options.scale, SCALES[options.scale], options.workers)
        for part in {"all": list(PARTS), "page": []}.get(options.what, [options.what]):
            PARTS[part](request)
            draw_all_and_write_page(out)
        print(f"Page: {draw_all_and_write_page(out)}")
    except ValueError as error:
        sys.exit(str(error))
    except (KeyboardInterrupt, BrokenProcessPool) as error:
        sys.exit(f"stopped ({error!r}); what was computed is saved: the same command goes on")


def draw_all_and_write_page(out: Path) -> Path:
    """Make the figures and the page of what is stored; returns the page's path."""
    pictures.draw_all(out)
    return page.write_page(out)


if __name__ == "__main__":
    # Before JAX begins, here and in the processes begun here.
    os.environ |= make_one_thread_variables()
    configure_logging()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as a batch system ends a job
    main(sys.argv[1:])
