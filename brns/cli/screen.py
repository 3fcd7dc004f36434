"""The console of the command line."""

from rich.console import Console

console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.
