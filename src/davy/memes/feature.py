"""What memes offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    tables=(
        "davy.memes.store.image_library",
        "davy.memes.store.meme_steps",
    ),
    commands={
        "meme": Command(
            "davy.memes.cli.meme:app",
            "Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark.",
            "Label",
        ),
    },
    subcommands={"reproduce": {"memes": "davy.memes.cli.reproduce:memes"}},
    papers={"hateful-memes": "davy.memes.reproduce:paper_section"},
    routers=(
        "davy.memes.pages.library:router",
        "davy.memes.pages.memes:router",
        "davy.memes.pages.meme_filter:router",
        "davy.memes.pages.meme_build:router",
        "davy.memes.pages.meme_confound:router",
        "davy.memes.pages.meme_figures:router",
        "davy.memes.pages.meme_editor:router",
    ),
    trainers={"pictures": "davy.memes.jobs:train_on_pictures"},
    unused_tabs="davy.memes.pages.memes:unused_tabs",
    export_facts="davy.memes.meme_families:export_facts",
    personal_data="davy.memes.store.meme_steps:personal_data",
    derived_posts="davy.memes.store.meme_steps:built_from",
    preparations="davy.memes.next_steps:preparations",
    fed_phases="davy.memes.meme_families:fed_phases",
)
