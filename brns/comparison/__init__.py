"""Methods compared: the suite of worlds, what is measured in them, the tests,
and the page that tells it.
"""
