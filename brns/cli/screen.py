"""The console of the command line."""

from rich.console import Console

console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.


def say(text: str, style: str = "") -> None:
    """Print a sentence: at a terminal in lines that end between words, through a pipe in one."""
    console.print(text, style=style, soft_wrap=not console.is_terminal)
