"""The command line, and what a person at a terminal sees."""

from rich.console import Console

console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.
