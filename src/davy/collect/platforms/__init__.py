"""One reader a platform: a JSON value of its archives in, records out."""

from davy.collect.platforms.read import NAMES, canonical, reader, records_of, scrubbed

__all__ = ["NAMES", "canonical", "reader", "records_of", "scrubbed"]
