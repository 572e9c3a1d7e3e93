"""What each option that several commands share means: one name, one meaning, one short form, for all of them.

`apply` gives a command's options what the table says of them and their declaration leaves out. A test holds every
command to the table, and `python scripts/option_table.py` prints it beside what the commands have.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SharedOption(NamedTuple):
    """What an option means in every command that has it.

    `values` are the words that help may show for its value, the usual one first; none for a switch. `default` is the
    one that all commands have, or `PER_COMMAND`.
    """

    meaning: str
    values: str = ""
    default: object = None
    short: str = ""


PER_COMMAND = "by command"

TABLE: dict[str, SharedOption] = {
    "--address": SharedOption("the Ray cluster", "HOST:PORT"),
    "--anyway": SharedOption("go on although a rule says not yet, with the reason", "REASON"),
    "--architecture": SharedOption("an encoder to try", "NAME", short="-a"),
    "--as": SharedOption("the name of a copy", "NAME"),
    "--at-least": SharedOption("how many posts it takes at least", "N", PER_COMMAND),
    "--attributes": SharedOption("what Perspective's attributes mean", "FILE F3", "perspective"),
    "--author-key": SharedOption("the file of the key that authors are hashed with", "F"),
    "--base": SharedOption("labelled posts to learn from besides", "F DIR"),
    "--base-url": SharedOption("where people reach the server", "URL", PER_COMMAND),
    "--baseline": SharedOption("a system that is a baseline", "NAME"),
    "--batch": SharedOption("how many posts are scored together", "N", PER_COMMAND),
    "--by": SharedOption("the column of groups to measure apart", "C"),
    "--cache": SharedOption("use answers that were given before", default=True),
    "--captions": SharedOption("captioned pictures to pre-train on", "DIR2"),
    "--categories": SharedOption("what OpenAI's categories mean", "FILE", "moderation"),
    "--choose-by": SharedOption("the part that chooses among candidates", "PART", "dev"),
    "--column": SharedOption("which column a field is", "FIELD=C"),
    "--config": SharedOption("a file of settings, or the name of a shipped one", "FILE C"),
    "--corpus": SharedOption("the public corpus that the files are", "NAME C"),
    "--credit": SharedOption("who made the pictures", "NAME"),
    "--data": SharedOption("the folder of published files", "DIR"),
    "--database": SharedOption("the server's database", "URL"),
    "--days": SharedOption("how many days it works", "N", PER_COMMAND),
    "--dev": SharedOption("posts to choose and tune by", "F"),
    "--dry-run": SharedOption("say what would be done, and do nothing", default=False),
    "--emoji": SharedOption("how emoji are read", "WAY"),
    "--encoder": SharedOption("a pre-trained network, a folder or hub name", "NAME [ROW=]NAME ROW=NAME"),
    "--encoding": SharedOption("the encoding of input files", "NAME"),
    "--engine": SharedOption("where the work is done", "NAME", "local"),
    "--exchange-format": SharedOption("the format of another tool", "NAME", "long"),
    "--files": SharedOption("the server's folder for files", "DIR"),
    "--format": SharedOption("the file format, where a name does not say it", "NAME"),
    "--fresh": SharedOption("start again, even where a stopped run could go on", default=False),
    "--functionality": SharedOption("a functionality of a suite", "NAME"),
    "--gold": SharedOption("the column with the answers to a question", "[Q=]C C"),
    "--host": SharedOption("the address to listen on", "HOST", "127.0.0.1"),
    "--id-column": SharedOption("the column with the ids", "C"),
    "--images": SharedOption("the folder with the pictures that posts name", "DIR"),
    "--json": SharedOption("print JSON", default=False),
    "--key": SharedOption("a key of the API, by its first characters", "PREFIX"),
    "--kind": SharedOption("which kind is made", "KIND", PER_COMMAND),
    "--label-none": SharedOption("cells such as none are a label", default=False),
    "--lang": SharedOption("a language of the texts", "LANG L", PER_COMMAND),
    "--latex": SharedOption("print tables as LaTeX", default=False),
    "--licence": SharedOption("the licence of posts or pictures", "NAME"),
    "--log-json": SharedOption("log as lines of JSON", default=False),
    "--login": SharedOption("whose account it is", "LOGIN"),
    "--model": SharedOption("the detector", "M", PER_COMMAND, "-m"),
    "--most": SharedOption("how many at most", "N", PER_COMMAND),
    "--name": SharedOption("what to call it", "NAME", PER_COMMAND),
    "--near-duplicates": SharedOption("how alike texts are that count as one", "T"),
    "--near-pictures": SharedOption("how near the hashes of pictures are that count as one", "BITS", PER_COMMAND),
    "--note": SharedOption("a line that goes with the result", "TEXT"),
    "--out": SharedOption("what is written: a file or a folder", "PATH DIR F F2 F.json FILE FOLDER", short="-o"),
    "--owner": SharedOption("the login that a key belongs to", "LOGIN"),
    "--phase": SharedOption("a phase, by its name", "P"),
    "--plan": SharedOption("a sampling or a split as data", "P", PER_COMMAND),
    "--platform": SharedOption("the platform that posts are from", "P"),
    "--policy": SharedOption("what flagged posts break, and what happens to them", "F"),
    "--posts": SharedOption("a file of posts", "FILE F2"),
    "--predictions": SharedOption("a file of predictions", "F F2", short="-p"),
    "--prefix": SharedOption("what is put before names or ids", "P", PER_COMMAND),
    "--prevalence": SharedOption("the share of posts that are a yes", "SHARE"),
    "--project": SharedOption("a project, by its name", "P PROJECT"),
    "--question": SharedOption("a question of the scheme", "Q", PER_COMMAND),
    "--raw": SharedOption("leave cells that begin like a formula as they are", default=False),
    "--replace": SharedOption("write over what exists", default=False),
    "--resamples": SharedOption("how many resamples an interval rests on", "N", 1000),
    "--review-unjudged": SharedOption("whether posts that were not judged go to review", default=None),
    "--role": SharedOption("what a person may do", "ROLE", PER_COMMAND),
    "--row": SharedOption("a row of a paper's table", "ROW", PER_COMMAND),
    "--rule": SharedOption("what posts have to match to be kept", "R"),
    "--scheme": SharedOption("the scheme of the answers", "S"),
    "--seed": SharedOption("the seed of what is left to chance", "N", 0),
    "--seeds": SharedOption("how many seeds to train with", "N", PER_COMMAND),
    "--server": SharedOption("the server to speak to", "URL"),
    "--set": SharedOption("change a field of the settings", "FIELD=VALUE"),
    "--shadow": SharedOption("a detector that scores along, whose answers nobody sees", "M"),
    "--show": SharedOption("print the plan or recipe and stop", default=False),
    "--size": SharedOption("small networks or the paper's", "SIZE", "small"),
    "--source": SharedOption("where posts or pictures are from", "NAME"),
    "--split": SharedOption("only this part of the posts", "[C=]NAME NAME", PER_COMMAND),
    "--target": SharedOption("the detector that people write against", "M", short="-t"),
    "--task": SharedOption("a task of a challenge", "T"),
    "--text-column": SharedOption("the column with the text", "C", PER_COMMAND),
    "--threshold": SharedOption("from which probability on a question is a yes", "Q=T [LANG:]Q=T"),
    "--threshold-rule": SharedOption("how thresholds are chosen", "RULE", PER_COMMAND),
    "--thresholds": SharedOption("a file of thresholds", "F"),
    "--times": SharedOption("how often entries of a round count", "N"),
    "--title": SharedOption("the title that people read", "TEXT"),
    "--top": SharedOption("how many of the best systems", "K", 10),
    "--uncertain": SharedOption("which probabilities go to review", "LOW:HIGH"),
    "--verbose": SharedOption("log every request or job", default=False),
    "--webhook": SharedOption("the address that is told of decisions", "URL"),
    "--workers": SharedOption("how many processes work", "N", PER_COMMAND),
    "--yes": SharedOption("do not ask before something is deleted", default=False),
}

OLD_NAMES: dict[str, dict[str, str]] = {
    "agree": {
        "--item": "--id-column",
        "--annotator": "--annotator-column",
        "--label": "--gold",
        "--text": "--text-column",
    },
    "calibrate": {"--threshold": "--threshold-rule", "--prior": "--prevalence"},
    "challenge baseline": {"--human": "--human-performance"},
    "check": {"--baseline": "--earlier-run", "--label": "--gold"},
    "collect live": {"--posts": "--most"},
    "collect read": {"--cap": "--most", "-p": "--platform"},
    "collect withdraw": {"-p": "--platform"},
    "community fit": {"--threshold": "--threshold-rule"},
    "compare": {"--column": "--score-column", "--pairs": "--test-pairs"},
    "convert": {"--answers": "--each-answer"},
    "database retention": {"--set": "--keep"},
    "describe": {"--least": "--at-least"},
    "export": {"--threshold": "--threshold-rule"},
    "job list": {"--limit": "--most"},
    "meme benchmark": {"--size": "--memes"},
    "meme read": {"--near": "--near-pictures"},
    "migrate compare": {"--threshold": "--flagged-from"},
    "model add": {"--shadow": "--as-shadow"},
    "project add-phase": {"--at-least": "--kappa"},
    "project audit": {"--by": "--doubter", "--budget": "--most", "--at-least": "--doubt"},
    "project corpus": {"--phases": "--phase"},
    "project export": {"--phases": "--phase", "--format": "--exchange-format", "--images": "--images-out"},
    "project hide": {"--show": "--undo"},
    "project import": {"--format": "--exchange-format"},
    "project next-set": {"--posts": "--most"},
    "reproduce edos": {"--only": "--row", "--predictions": "--predictions-out"},
    "round attack": {"--label": "--gold"},
    "round open": {"--emoji": "--require-emoji", "--no-emoji": "--no-require-emoji"},
    "sample": {"--pool": "--pool-size"},
    "scheme copy": {"--force": "--replace"},
    "score": {"--no-resume": "--fresh"},
    "split": {"--column": "--split-column", "--unseen": "--test-unseen"},
    "suite add": {"--text": "--template", "--version": "--perturbation"},
    "suite copy": {"--force": "--replace"},
    "suite issue": {"--answers": "--earlier-answers"},
    "suite show": {"--set": "--case-set", "--target": "--identity", "--limit": "--most", "--source": "--yaml"},
    "suite suggest": {"--model": "--encoder", "-m": "--encoder"},
}
"""By command, what options were called until they had one name for all commands. Using one names the new one."""


def apply(command: Any) -> Any:
    """Return a command, or a group, whose options have their short form and the word for their value."""
    for child in getattr(command, "commands", {}).values():
        apply(child)
    for option in command.params:
        row = TABLE.get(option.opts[0])
        if row is None:
            continue
        if row.short and row.short not in option.opts:
            option.opts.append(row.short)
        if row.values and option.metavar is None:
            option.metavar = row.values.split()[0]
    return command
