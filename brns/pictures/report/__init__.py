"""A report: records in, one page out, which opens from disk and needs no network."""

try:
    from brns.pictures.report.page import write_report as write_report
except ModuleNotFoundError as error:
    raise ImportError(f"a report needs {error.name}: pip install 'brns[report]'") from None
