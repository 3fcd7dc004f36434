"""The report: one self-contained page to look into runs with."""

from brns.pictures.report.page import write as write
