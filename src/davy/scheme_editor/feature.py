"""What the editor of schemes offers to the rest."""

from davy.core.feature import Feature

FEATURE = Feature(
    tables=("davy.scheme_editor.store",),
    routers=(
        "davy.scheme_editor.pages.schemes:router",
        "davy.scheme_editor.pages.scheme:router",
    ),
    personal_data="davy.scheme_editor.store:personal_data",
    forget_person="davy.scheme_editor.store:forget_person",
)
