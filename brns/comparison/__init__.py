"""Methods compared: the suite of worlds, what is measured in them, tests, and a page."""
