"""The statistics of the paper: each a function on arrays first, then on a record."""
