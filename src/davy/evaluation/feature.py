"""What evaluation offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "agree": Command(
            "davy.evaluation.cli.agree:agree",
            "Measure how far people agree: κ (Cohen, Fleiss, Randolph), Krippendorff's α, Gwet's AC1, percent.",
            "Label",
        ),
        "evaluate": Command(
            "davy.evaluation.cli.evaluate:evaluate",
            "Measure detectors on labelled posts: macro-F1, per-label figures, AUROC, confusion matrices, paired "
            "tests.",
            "Measure",
        ),
        "explain": Command(
            "davy.evaluation.cli.evaluate:explain",
            "Measure whether the words of `davy score --explain` are those that people marked.",
            "Measure",
        ),
        "compare": Command(
            "davy.evaluation.cli.compare:compare",
            "Rank many systems against gold: intervals, paired tests, rank stability, and what the best ones "
            "still miss.",
            "Measure",
        ),
        "reproduce": Command("davy.evaluation.cli.reproduce:app", "Regenerate a paper's table beside ours.", "Measure"),
    },
)
