"""The command line, started: `brns`, or `python -m brns.cli`."""

import os
import sys
import sysconfig
import traceback

USUAL = (ValueError, ImportError, RuntimeError, OSError)
"""what a user can mend"""


def main() -> None:
    """Run the command line: what a user can mend ends with one clear message and exit status 2."""
    from brns.cli.commands import app

    try:
        app(standalone_mode=True)
    except SystemExit as ended:
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):  # which Typer made an exit
            goes_on = sys.argv[1:2] in (["compare"], ["reproduce"])
            saved = " What was finished is saved: the same command goes on." if goes_on else ""
            print(f"Stopped.{saved}")
        raise
    except Exception as error:
        own = in_own_code(error)
        if not own and not isinstance(error, USUAL):
            raise  # which is ours to mend
        usual = isinstance(error, USUAL) and f"{error}"
        told = [f"brns: {usual or repr(error)}", *getattr(error, "__notes__", ())]
        if own:
            told += ["It was raised in your code:", own]
        print("\n".join(told), file=sys.stderr)
        sys.exit(2)


def in_own_code(error: BaseException) -> str:
    """The lines of the traceback from the first in a file of the user's own that the library called; or nothing."""
    ours = os.path.dirname(os.path.dirname(__file__))
    others = (ours, *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")), "<")
    frames = traceback.extract_tb(error.__traceback__)
    called = next((i for i, frame in enumerate(frames) if frame.filename.startswith(ours)), len(frames))
    theirs = [i for i in range(called, len(frames)) if not frames[i].filename.startswith(others)]
    return "".join(traceback.format_list(frames[theirs[0] :])).rstrip() if theirs else ""


if __name__ == "__main__":
    main()
