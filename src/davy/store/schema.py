"""All tables: the modules that declare some are imported here, so that none is missing where all are made or walked."""

from importlib import import_module

from davy.core.feature import features
from davy.store import events as events
from davy.store.columns import metadata as metadata

for _feature in features():
    for _module in _feature.tables:
        import_module(_module)
