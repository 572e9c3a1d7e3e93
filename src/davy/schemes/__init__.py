"""The questions that ship with Davy, as YAML in our own words, and the reader for them and for your own."""

from davy.files.yaml_nodes import Problem
from davy.schemes.read import check, from_dict, load, names, parse, read, renamed, text_of, with_translations, wordings
from davy.schemes.write import digest, to_dict, to_yaml

__all__ = [
    "Problem",
    "check",
    "digest",
    "from_dict",
    "load",
    "names",
    "parse",
    "read",
    "renamed",
    "text_of",
    "to_dict",
    "to_yaml",
    "with_translations",
    "wordings",
]
