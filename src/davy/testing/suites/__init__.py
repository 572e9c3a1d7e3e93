"""Functional tests that ship with Davy, as data, and the reader for them and for your own.

Content warning: the data files hold hateful sentences, written to test detectors. README.md says why.
"""

from davy.testing.suites.case_counts import counts
from davy.testing.suites.display import masker, table
from davy.testing.suites.suite_file import SuiteReading, load, names, path_of, read, read_text, titles

__all__ = ["SuiteReading", "counts", "load", "masker", "names", "path_of", "read", "read_text", "table", "titles"]
