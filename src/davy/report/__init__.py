"""One kit for tables, plots and self-contained HTML pages."""

from davy.report.page import Page, Provenance
from davy.report.tables import Column, Table

__all__ = ["Column", "Page", "Provenance", "Table"]
