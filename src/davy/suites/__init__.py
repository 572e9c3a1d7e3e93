"""Functional tests that ship with Davy, as data, and the reader for them and for your own.

Content warning: the data files hold hateful sentences, written to test detectors. README.md says why.
"""

from davy.suites.counting import counts
from davy.suites.read import Reading, load, names, path_of, read
from davy.suites.show import masker, table

__all__ = ["Reading", "counts", "load", "masker", "names", "path_of", "read", "table"]
