"""The consoles of the command line, on which a bracket in a path or a text is a bracket."""

from rich.console import Console

console = Console(highlight=False, markup=False, emoji=False)
errors = Console(highlight=False, markup=False, emoji=False, stderr=True)


def print_message(text: str, where: Console = console, style: str = "") -> None:
    """Print a sentence: at a terminal in lines that end between words, through a pipe in one."""
    where.print(text, style=style, soft_wrap=not where.is_terminal)
