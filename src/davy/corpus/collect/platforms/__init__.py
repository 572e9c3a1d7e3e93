"""One reader a platform: a JSON value of its archives in, records out."""

from davy.corpus.collect.platforms.readers import NAMES, canonical_name, reader, records_of, scrub

__all__ = ["NAMES", "canonical_name", "reader", "records_of", "scrub"]
