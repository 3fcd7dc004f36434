"""The command line, and what a person at a terminal sees."""
