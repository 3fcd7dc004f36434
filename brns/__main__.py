"""`python -m brns` is the command line."""

from brns.cli.commands import main

if __name__ == "__main__":
    main()
