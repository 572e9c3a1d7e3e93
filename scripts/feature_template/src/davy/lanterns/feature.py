"""What lanterns offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={"lantern": Command("davy.lanterns.cli:app", "Add lanterns and list them.", "Label")},
    routers=("davy.lanterns.pages.lanterns:router",),
    tables=("davy.lanterns.store",),
)
