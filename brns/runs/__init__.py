"""A search on disk: the loop over generations and seeds, its record,
and what is known of runs from their files.
"""
