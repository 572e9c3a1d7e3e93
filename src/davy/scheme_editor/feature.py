"""What the editor of schemes offers to the rest."""

from davy.core.feature import Feature

FEATURE = Feature(
    routers=(
        "davy.scheme_editor.pages.schemes:router",
        "davy.scheme_editor.pages.scheme:router",
    ),
)
