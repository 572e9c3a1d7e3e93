"""What training offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "train": Command(
            "davy.training.cli:train",
            "Fine-tune an encoder with a head for each question; several files each fill the heads they have "
            "answers for.",
            "Train",
        ),
        "pretrain": Command(
            "davy.training.cli:pretrain",
            "Continue an encoder's pre-training: it guesses whole words that are hidden in your posts.",
            "Train",
        ),
        "distil": Command(
            "davy.training.cli:distil", "Distil teachers into a student, on labelled and unlabelled posts.", "Train"
        ),
        "export": Command(
            "davy.training.cli:export",
            "Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.",
            "Train",
        ),
        "calibrate": Command(
            "davy.training.cli:calibrate",
            "Set a detector's temperatures and thresholds on posts, and print its figures before and after.",
            "Train",
        ),
    },
)
