"""Tasks that wrap a task and evaluate its batches in chunks: in this process, in others, or on a Dask cluster."""
