"""The statistics of the paper, computed from a run's record: each a function on arrays first,
then on a record."""
