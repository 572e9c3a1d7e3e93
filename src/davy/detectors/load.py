"""Find a scorer by the name that `--model` takes.

A name in, a scorer out. Classes are named as text and imported only when they
are asked for, so that a word list never waits for a network's library.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from davy.core.errors import MissingFile, UnknownName, UserError, missing_extra, nearest
from davy.detectors import folder as folders
from davy.detectors.calibrated import SELF_CALIBRATED, SELF_SHIFTED, CalibratedScorer
from davy.detectors.model_name import ModelName

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.detectors.model_name import Reader
    from davy.image.picture_names import Pictures

DEFAULT = "embedded"

# Name → the function that takes a `ModelName` and returns the scorer.
MAKERS: Mapping[str, str] = {
    "embedded": "davy.detectors.embedded:load_embedded",
    "embedded-careful": "davy.detectors.embedded:load_careful",
    "embedded-en": "davy.detectors.embedded:load_single",
    "embedded-en-large": "davy.detectors.embedded:load_single",
    "embedded-de": "davy.detectors.embedded:load_single",
    "embedded-memes": "davy.detectors.embedded:load_single",
    "embedded-memes-pictures": "davy.detectors.embedded:load_single",
    "majority": "davy.detectors.baselines:majority",
    "uniform": "davy.detectors.baselines:uniform",
    "keywords": "davy.detectors.keywords:keywords",
    "tfidf": "davy.detectors.tfidf:tfidf",
    "xgboost": "davy.detectors.gradient_boosting:load_boosted",
    "perspective": "davy.detectors.remote:perspective",
    "openai": "davy.detectors.remote:openai",
    "url": "davy.detectors.remote:url",
    "hf": "davy.detectors.hub_classifier:load_from_hub",
    "llm": "davy.detectors.language_model:load_prompted",
    "ensemble": "davy.detectors.ensemble:ensemble",
    "ocr": "davy.detectors.picture_text:load_picture_text",
}

# What a manifest's `engine` says → the class whose `open(folder, manifest)` reads the folder.
ENGINES: Mapping[str, str] = {
    "onnx": "davy.detectors.onnx:OnnxScorer",
    "majority": "davy.detectors.baselines:Majority",
    "tfidf": "davy.detectors.tfidf:Tfidf",
    "xgboost": "davy.detectors.gradient_boosting:GradientBoosting",
    "transformer": "davy.detectors.transformer:TransformerScorer",
    "meme": "davy.detectors.meme_scorer:MemeScorer",
    "meme-onnx": "davy.detectors.meme_scorer:MemeScorer",
    "meme-neighbours": "davy.detectors.meme_scorer:MemeScorer",
}
LOOKING = frozenset({"meme", "meme-onnx", "meme-neighbours"})
"""The engines that look at pictures: `open` takes `images` too."""

# What to type, and what it is: for help, errors and `davy model list`.
NAMES: Mapping[str, str] = {
    "embedded": "detects the language and asks the embedded detector for it",
    "embedded-careful": "as embedded, and asks the large English one where the small one is unsure",
    "embedded-en": "the small English detector in the package",
    "embedded-en-large": "the large English detector (extra: large)",
    "embedded-de": "the German detector in the package",
    "embedded-memes": "the detector of harmful memes in the package, by their text: COVID-19 in 2020",
    "embedded-memes-pictures": "the same question by picture and text, not better on HarMeme (extra: large)",
    "FOLDER": "a saved model: a folder with a manifest.json",
    "hf:ORG/NAME": "a classifier from the Hugging Face hub, its cache or a folder (extra: train)",
    "hf:NAME@hate=LABEL": "the same, with the label that is the yes of hate; hate=A,hate=B,sexist=C for more",
    "majority[:FILE]": "always the most frequent answer, in FILE or by the scheme's order",
    "uniform[:SEED]": "chance, the same for the same text",
    "keywords:FILE": "a word list, one term a line",
    "tfidf:FILE": "TF-IDF and logistic regression, fitted on FILE (extra: train)",
    "xgboost:FILE": "TF-IDF and XGBoost, fitted on FILE (extra: train)",
    "perspective[:ATTRIBUTES]": "the Perspective API; key in PERSPECTIVE_API_KEY; SEXUALLY_EXPLICIT,INSULT … for more",
    "openai": "OpenAI moderation; key in OPENAI_API_KEY",
    "url:http://…": "an endpoint in Perspective's shape, OpenAI's, or ours",
    "llm:MODEL[@http://…/v1]": "a prompted language model behind a chat endpoint; key in LLM_API_KEY",
    "ocr:MODEL": "MODEL, which also gets the text on posts' pictures (--images; extra: memes)",
    "ensemble:mean:A+B": "several models as one: the mean of their probabilities, or ensemble:vote:A+B+C",
}


def load(name: str = DEFAULT, *, read: Reader | None = None, images: Pictures | None = None) -> Scorer:
    """Return the scorer called `name`.

    `read` gives the questions and posts of a file for names that learn from one; `images` gives the picture that a
    post's `image` names to scorers that look at pictures: `pictures_in(FOLDER)`, or an `ImageFolder`'s `read`.
    """
    name = name.strip()
    asked = ModelName.parse(name, read=read, images=images)
    if asked.kind in MAKERS:
        scorer: Scorer = _import_target(MAKERS[asked.kind])(asked)
        return scorer
    path = Path(name).expanduser()
    if name and path.is_dir():
        return open_folder(path, images)
    if path.suffix.lower() in folders.PICKLES:
        raise UserError(f"{path} may be a pickle, which is never loaded. Convert it once: davy model convert {path}")
    if path.is_file():
        raise UserError(f"{path} is a file, and a model is a folder with a manifest.json. Name its folder.")
    if "/" in name or name.startswith((".", "~")):
        raise MissingFile(f"There is no model folder {path}.")
    raise UnknownName(f"There is no model {name!r}.{nearest(name, list(MAKERS))} Known: {', '.join(NAMES)}.")


def open_folder(folder: Path, images: Pictures | None = None) -> Scorer:
    """Return the scorer saved in a folder, after checking its files; `images` is for engines that look at pictures."""
    manifest = folders.read(folder)
    if manifest.engine not in ENGINES:
        raise UserError(
            f"{folder} needs the engine {manifest.engine!r}, which this Davy does not have "
            f"(it has {', '.join(ENGINES)}). Update Davy."
        )
    engine = _import_target(ENGINES[manifest.engine])
    more = (images,) if manifest.engine in LOOKING else ()
    try:
        scorer: Scorer = engine.open(folder, manifest, *more)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"{folder} can't be opened as {manifest.engine} ({why}). Export the model again.") from error
    held: dict[str, Any] = {"shifts": manifest.shifts, "prevalence": manifest.prevalence}
    if manifest.engine == SELF_SHIFTED or not (manifest.temperatures or manifest.thresholds or any(held.values())):
        return scorer
    if manifest.engine in SELF_CALIBRATED:
        return CalibratedScorer(scorer, {}, {}, folder, **held) if any(held.values()) else scorer
    return CalibratedScorer(scorer, manifest.temperatures, manifest.thresholds, folder, **held)


def _import_target(target: str) -> Any:
    try:
        return resolve_name(target)
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
