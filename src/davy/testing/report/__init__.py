"""The report of a check: page, tables, plots, JUnit and JSON, from runs that are done."""
