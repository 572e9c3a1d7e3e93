"""Public corpora by name: their files as they were published in, posts with published verdicts out.

Each corpus is described in a YAML file of its name beside this one: its columns,
its scheme and its quirks are data. docs/data/corpora.md lists them.
"""

from davy.corpus.collect.corpora.descriptions import CorpusDescription, describe, names, recognise
from davy.corpus.collect.corpora.load import Corpus, find_in, load, verdicts

__all__ = ["Corpus", "CorpusDescription", "describe", "find_in", "load", "names", "recognise", "verdicts"]
