"""Tasks that wrap a task and spread its evaluation: over processes, or over a Dask cluster."""
