"""What the web offers to the rest."""

from davy.core.feature import Feature

FEATURE = Feature(
    routers=("davy.web.pages.static:router",),
)
