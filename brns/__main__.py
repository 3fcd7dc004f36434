"""The start of the command line: `brns`, or `python -m brns`."""

import io
import itertools
import logging
import os
import signal
import sys
import traceback

USUAL = (ValueError, ImportError, RuntimeError, OSError)
"""errors that a user can mend"""


def main() -> None:
    """Run the command line. An error that a user can mend is a message and exit status 2."""
    from brns.cli.commands import app

    configure_logging()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # whose encoding may lack a letter
            stream.reconfigure(errors="replace")
    # As a batch system ends a job: like Ctrl-C, so that workers leave no semaphores behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(prog_name="brns")
    except SystemExit as ended:
        interrupt = getattr(ended.__context__, "__cause__", None)
        if isinstance(interrupt, KeyboardInterrupt):
            print(*interrupt.args or ["Stopped."])
        raise
    except Exception as error:
        platforms = os.environ.get("JAX_PLATFORMS")
        if platforms and isinstance(error, AssertionError) and not error.args:  # JAX's own, mute
            error = RuntimeError(
                f"JAX has no plug-in for JAX_PLATFORMS={platforms}; install it, or unset "
                "JAX_PLATFORMS"
            )
        from_user = format_user_traceback(error)
        is_usual = isinstance(error, USUAL)
        if not from_user and not is_usual:
            raise
        from brns.cli.screen import errors, print_message

        print_message(f"brns: {(is_usual and str(error)) or repr(error)}", errors)
        for note in getattr(error, "__notes__", ()):
            if "JAX_TRACEBACK_FILTERING" not in note:
                print_message(note, errors)
        if from_user:
            print(f"It was raised in your code:\n{from_user}", file=sys.stderr)
        sys.exit(2)


def configure_logging() -> None:
    """Show what the library logs; without a terminal, where no bar is, how a run goes too."""
    seen = sys.stderr.isatty()
    text = "%(message)s" if seen else "%(asctime)s %(message)s"
    logging.basicConfig(format=text, datefmt="%Y-%m-%d %H:%M:%S")
    if not seen:
        logging.getLogger("brns").setLevel(logging.INFO)


def format_user_traceback(error: BaseException) -> str:
    """The traceback, or its cause's, from the user's own code on; empty where there is none."""
    from brns.settings.code import is_library_file

    def is_of_others(frame: traceback.FrameSummary) -> bool:
        return frame.filename.startswith((own, "<")) or is_library_file(frame.filename)

    own = os.path.dirname(__file__)
    for each in (error, error.__cause__):
        frames = traceback.extract_tb(each.__traceback__ if each else None)
        if user_frames := list(itertools.dropwhile(is_of_others, frames)):
            return "".join(traceback.format_list(user_frames)).rstrip()
    return ""


if __name__ == "__main__":
    main()
