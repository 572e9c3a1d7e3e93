"""The card of an exported Hugging Face dataset: a YAML header for programs, and words for people."""

from __future__ import annotations

from typing import Any

from davy.annotation.exchange.rows import ExchangeContext
from davy.core.question_kind import QUESTION_KINDS

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(
    about: ExchangeContext, splits: dict[str, int], langs: list[str], features: list[dict[str, Any]] | None = None
) -> str:
    """Return the card's Markdown; `splits` says how many rows `train`, `unsettled` and `annotations` have."""
    import yaml

    header = yaml.safe_dump(_header(about, splits, langs, features), sort_keys=False, allow_unicode=True)
    parts = [
        f"# {about.title or about.project}",
        "**This dataset holds hurtful texts.** They are here so that hate can be studied and countered.",
        _rows_table(splits),
        "## Questions\n\n" + _questions(about),
        "`default` has the settled label of each question, with the basis of the verdict (`Q_basis`), the expert's "
        "reason where there is one (`Q_reason`) and how many people gave which answer (`Q_votes`, JSON). `found` is "
        "the rule by which a post was collected, `sampler` what took it from the pool, `judges` by which scores. "
        "`annotations` has what each person answered, under a pseudonym that "
        "stays the same in every export of this project.",
        '```python\nfrom datasets import load_dataset\n\nposts = load_dataset("PATH", split="train")\n'
        'answers = load_dataset("PATH", "annotations", split="train")\n```',
    ]
    if statement := about.statement():
        parts.append("\n".join(f"#{line}" if line.startswith("#") else line for line in statement.strip().splitlines()))
    return f"---\n{header}---\n\n" + "\n\n".join(parts) + "\n"


def _header(
    about: ExchangeContext, splits: dict[str, int], langs: list[str], features: list[dict[str, Any]] | None
) -> dict[str, Any]:
    posts = splits["train"] + splits["unsettled"]
    default = [{"split": name, "path": f"default/{name}-*.parquet"} for name in ("train", "unsettled") if splits[name]]
    return {
        **({"language": langs} if langs else {}),
        "license": about.licence or "other",
        "pretty_name": about.title or about.project,
        "task_categories": ["text-classification"] + ["image-classification"] * bool(features),
        "tags": ["not-for-all-audiences", "hate-speech", "davy"],
        "size_categories": [next((name for most, name in _SIZES if posts < most), "1M<n<10M")],
        "configs": [
            {
                "config_name": "default",
                "default": True,
                "data_files": default or [{"split": "train", "path": "default/train-*.parquet"}],
            },
            {"config_name": "annotations", "data_files": [{"split": "train", "path": "annotations/train-*.parquet"}]},
        ],
        **({"dataset_info": [{"config_name": "default", "features": features}]} if features else {}),
    }


def _rows_table(splits: dict[str, int]) -> str:
    lines = ["| configuration | split | rows |", "| --- | --- | ---: |"]
    lines.append(f"| `default` | `train`: settled posts | {splits['train']:,} |")
    if splits["unsettled"]:
        lines.append(f"| `default` | `unsettled`: posts with a question open, or dropped | {splits['unsettled']:,} |")
    lines.append(f"| `annotations` | `train`: one row an answer | {splits['annotations']:,} |")
    return "\n".join(lines)


def _questions(about: ExchangeContext) -> str:
    lines = []
    for name in about.questions:
        question = about.scheme.question(name)
        labels = ", ".join(f"`{label.name}`" for label in question.labels)
        if question.marks_text:
            labels = "words of the text, as `start-end`" + (f" marked as {labels}" if labels else "")
        answer = f"{QUESTION_KINDS[question.kind].amount} {labels}".rstrip()
        under = f" (where `{question.under[0]}` is {' or '.join(question.under[1])})" if question.under else ""
        lines.append(f"- `{name}`{under}: {answer}. {question.title}".rstrip())
    return "\n".join(lines)
