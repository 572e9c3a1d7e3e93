"""The catalogues say the same in English and German, and no template has words or scripts of its own."""

from __future__ import annotations

import ast
import re
import string
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from davy.core import Metric
from davy.core.scheme import Wording
from davy.evaluation.tasks import TITLES
from davy.report import Column
from davy.rounds.candidates import choice_table
from davy.store import events
from davy.store.events import AuditEvent
from davy.web.audit_translation import audit_rows
from davy.web.feature_files import PACKAGE, feature_folders, merge_words, template_folders
from davy.web.i18n import (
    LANGUAGES,
    Translator,
    catalogue,
    choose_language,
    shipped_titles,
    translated_title,
    translations_of,
)
from davy.web.render import environment
from two_projects import fill, fill_rooms
from web_site import post

TEMPLATES = sorted(path for folder in template_folders() for path in folder.rglob("*.html"))
DYNAMIC = (
    "place.", "role.", "scope.", "note.", "error.", "jobs.state.", "home.lead.", "home.about.", "invitation.over.",
    "posts.kind.", "keys.revoked", "keys.expired", "scheme.problem.", "scheme.kind.", "label.request.",
    "account.letter.", "account.switch.", "settings.section.", "settings.figure.", "settings.rule.", "settings.answer.",
    "settings.otherwise.", "settings.middle.", "settings.deletion.",
    "bring.encoding.", "jobs.does.", "language.",
    "project.kind.", "project.kind_help.", "project.state.", "project.role.", "project.role_help.", "new_project.step.",
    "project.room.", "project.group.", "new_challenge.", "projects.none.", "going.",
    "step.name.", "step.state.", "step.do.", "step.who.", "communities.stopped.",
    "preset.", "editor.align.", "editor.place.", "editor.side.",
    "memes.step.", "memes.about.", "memes.counts.", "memes.do.", "memes.why.", "filter.violation.", "filter.missing.",
    "memes.page.", "memes.kind.", "memes.means.", "families.side.", "families.answer.", "figures.word.",
    "figures.middle.", "report.then.", "confound.side.", "confound.replace.", "confound.smallest.", "confound.flip.",
    "confound.nothing.",
    "confound.hint.", "confound.answer.", "editor.source", "editor.original",
    "rounds.refused.", "rounds.strategy.", "rounds.support.", "rounds.what.",
    "rounds.table.", "rounds.note.", "table.",
    "many.why.", "many.done.", "many.majority", "many.keep", "many.drop",
    "watch.coefficient.", "case.kind.", "case.why.", "basis.", "screening.state.", "screening.own.",
    "care.limit.", "channel.show.", "channel.kind.", "coding.show.", "about_me.",
    "exports.name.", "exports.about.", "attack.strategy.", "train.kind.", "train.about.", "train.page.",
    "training.part.", "runs.verb.", "runs.about.", "runs.file_hint.", "runs.kept.", "runs.figure.",
    "runs.sampler.",
    "project_scope.", "retention.kind.", "retention.about.",
    "detectors.act.", "detectors.act_name.", "detectors.adding.",
    "challenges.none.", "challenge.room.", "challenge.part.", "challenge.state.", "board.mark.", "board.summary.",
    "submission.state.", "submission.words.", "analysis.level.", "method.", "fault.", "organise.", "error.submission_",
    "metric.", "keys.per_", "rounds.goal_", "expert.stays.", "communities.action.", "communities.delivery.",
    "api.key.", "communities.outcome.", "rounds.fact.", "submission.unranked_words.",
)  # fmt: skip
"""Families of keys that code puts together."""


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_both_catalogues_have_the_same_keys_and_placeholders():
    english, german = catalogue("en"), catalogue("de")
    assert set(english) == set(german)
    for key, sentence in english.items():
        assert placeholders(sentence) == placeholders(german[key]), key
        assert all(it.strip() for it in (sentence, german[key])), key


def test_every_feature_has_its_words_in_both_languages():
    for folder in feature_folders("locale"):
        keys = {lang: set(merge_words([p for p in [folder / f"{lang}.yaml"] if p.is_file()])) for lang in LANGUAGES}
        assert keys["en"] == keys["de"], folder


def test_a_key_that_two_features_have_is_an_error(tmp_path):
    for name, word in (("one.yaml", "home.title: Home"), ("other.yaml", "home.text: Text\nhome.title: Start")):
        (tmp_path / name).write_text(word)
    with pytest.raises(ValueError, match=r"other\.yaml has keys that another locale folder has too: home\.title"):
        merge_words([tmp_path / "one.yaml", tmp_path / "other.yaml"])


def test_no_two_features_have_a_template_of_one_name():
    names = [path.relative_to(folder).as_posix() for folder in template_folders() for path in folder.rglob("*.html")]
    assert sorted(names) == environment().list_templates()


def test_no_sentence_holds_html():
    for lang in LANGUAGES:
        for key, sentence in catalogue(lang).items():
            assert not re.search(r"[<>&]", sentence), key


def test_every_key_in_code_and_templates_is_in_the_catalogue_and_none_is_left_over():
    sources = [path.read_text() for path in (*TEMPLATES, *PACKAGE.rglob("*.py"))]
    used = set(re.findall(r"""\bt\(\s*["']([a-z_0-9]+\.[a-z_.0-9]+)["']""", "\n".join(sources)))
    used |= set(re.findall(r"""words\(\s*["']([a-z_0-9]+\.[a-z_.0-9]+)["']""", "\n".join(sources)))
    used |= {f"error.{key}" for key in re.findall(r'LocalizedError\(\s*"(\w+)"', "\n".join(sources))}
    known = set(catalogue("en"))
    plural = {key.rpartition(".")[0] for key in known if key.endswith((".one", ".other"))}
    assert not {key for key in used if key not in known | plural and not key.endswith(".")}
    stale = {k for k in known if k not in used and k.rpartition(".")[0] not in used and not k.startswith(DYNAMIC)}
    assert not stale


def visible_text(html: str) -> str:
    """Return what a template would show by itself: no tags, no expressions, no comments."""
    html = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", " ", html, flags=re.DOTALL)
    html = re.sub(r"<pre.*?</pre>|<title>|<!--.*?-->", " ", html, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", html)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_words_of_its_own(path):
    own = re.findall(r"[A-Za-zÄÖÜäöüß]{2,}", visible_text(path.read_text()))
    assert set(own) <= {"Davy", "davy_", "davy"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_an_attribute_with_words_of_its_own(path):
    found = re.findall(r'(?:aria-label|title|placeholder|alt|data-name)="([^"]*)"', path.read_text())
    assert not [value for value in found if re.search(r"\w", re.sub(r"{{.*?}}", "", value))]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_inline_script_style_or_handlers(path):
    html = path.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"<style|\sstyle=|javascript:|\son\w+=|hx-on|hx-vals=.js|\|\s*safe\b", html)


def test_every_input_has_a_label(site):
    client = site.as_("admin")
    for page in ("/score", "/people", "/account", "/keys", "/posts"):
        html = client.get(page).text
        for tag in re.findall(r"<(?:input|select|textarea)[^>]*>", html):
            if 'type="hidden"' in tag or 'role="switch"' in tag:
                continue
            name = re.search(r'\bid="([^"]+)"', tag)
            assert name, tag
            assert f'for="{name.group(1)}"' in html, tag


def test_the_language_is_the_accounts_then_the_cookies_then_the_browsers():
    assert choose_language("de", "en", "en") == "de"
    assert choose_language(None, "de", "en") == "de"
    assert choose_language(None, None, "fr,de;q=0.8,en;q=0.2") == "de"
    assert choose_language(None, "xx", "en;q=0.1,de-CH") == "de"
    for odd in (None, "", ";;;,", "de;q=x", "*", "de;q=0", "x" * 10_000):
        assert choose_language(None, None, odd) == "en"


def test_pages_say_their_language_and_the_switch_changes_it(site):
    client = site.visitor()
    assert '<html lang="en">' in client.get("/").text
    answer = post(client, "/language", {"lang": "de", "next": "/sign-in?next=%2Fkeys"})
    assert answer.headers["location"] == "/sign-in?next=%2Fkeys"
    html = client.get("/").text
    assert '<html lang="de">' in html
    assert "Sicherheitslampe" in html


@pytest.mark.parametrize("page", ["/", "/score", "/posts", "/account", "/keys", "/jobs", "/people", "/audit"])
def test_every_page_is_there_in_german(site, page):
    client = site.as_("admin")
    post(client, "/language", {"lang": "de", "next": "/"})
    html = client.get(page).text
    assert '<html lang="de">' in html
    assert "Abmelden" in html


def test_numbers_times_and_plurals_follow_the_language():
    from datetime import UTC, datetime

    at = datetime(2026, 3, 9, 7, 5, tzinfo=UTC)
    english, german = Translator("en"), Translator("de")
    assert (english.when(at), german.when(at)) == ("9 Mar 2026, 07:05 UTC", "09.03.2026, 07:05 UTC")
    berlin, nepal = (replace(german, zone=ZoneInfo(name)) for name in ("Europe/Berlin", "Asia/Kathmandu"))
    assert (berlin.when(at), nepal.when(at)) == ("09.03.2026, 08:05 CET", "09.03.2026, 12:50 UTC+0545")
    assert (english.share(0.125), german.share(0.125)) == ("12.5%", "12,5 %")
    assert (english.number(12345), german.number(12345)) == ("12,345", "12.345")
    assert (english("people.days", count=1), german("people.days", count=7)) == ("1 day", "7 Tage")


SHELL_MODULES = (
    "engines/shards.py", "files/arrays.py", "files/atomic.py", "files/input_paths.py", "files/json_stream.py",
    "files/run_folder.py", "files/tables.py", "files/yaml_objects.py", "jobs/job_files.py",
    "jobs/kinds.py", "memes/benchmark.py", "memes/image_library.py", "memes/meme_data.py", "memes/source_memes.py",
    "memes/meme_render.py", "memes/meme_train.py", "memes/reproduce.py",
    "moderation/pages/api.py", "moderation/pages/comments.py", "moderation/pages/moderations.py", "rounds/replay.py",
    "server/doctor.py", "server/start.py", "store/backup.py", "store/backup_file.py", "store/connection.py",
    "store/restore.py", "store/url.py", "testing/suites/suite_file.py", "web/settings.py",
)  # fmt: skip
"""What these refuse is told in a shell, or to a program; so is what a feature's `cli` refuses."""
PAGE_ROOMS = (
    "annotation", "challenges/challenge_kit.py", "challenges/run_challenge.py", "challenges/store",
    "challenges/submission_file.py", "core", "detectors/registered.py", "detectors/store.py", "files", "image", "jobs",
    "memes", "moderation/communities.py", "moderation/pages", "moderation/store", "moderation/webhooks.py", "people",
    "rounds", "runs", "scheme_editor", "schemes", "scoring/queue", "server", "store", "testing/run.py",
    "testing/suites", "training/train.py", "web",
)  # fmt: skip
"""Where sentences come from that pages show, by folder or file of the package."""


SCHEME_READERS = ("schemes/reader.py", "schemes/rules.py", "schemes/scheme_fields.py", "files/yaml_nodes.py")
"""Where it is noted what is wrong with a scheme's file, which a page shows too."""


def refused_sentences() -> dict[str, str]:
    """Every sentence that a page may have to show, with `{}` for its values, and the file that says it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        of_pages = name.startswith(tuple(f"{it}/" if "." not in it else it for it in PAGE_ROOMS))
        if not of_pages or name in SHELL_MODULES or "cli" in (path.stem, path.parent.name):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called == "UserError" and (sentence := written(node.args[0])):
                found[sentence] = name
            noted = called == "add" and name in SCHEME_READERS and len(node.args) == 2 and written(node.args[1])
            if noted:
                found[noted] = name
    return found


def written(node: ast.expr) -> str | None:
    """Return a text as it stands in the source, with `{}` for its values; None where it is put together."""
    if isinstance(node, ast.Constant):
        return str(node.value).replace("{", "{{").replace("}", "}}")
    if isinstance(node, ast.JoinedStr):
        return "".join(written(it) or "" if isinstance(it, ast.Constant) else "{}" for it in node.values)
    return None


def test_every_error_that_a_page_may_show_is_there_in_german():
    german, sources = translations_of("errors", "de"), refused_sentences()
    # What names an option or a command is the shell's; what has no words of its own is another's sentence.
    wanted = {it for it in sources if not re.search(r"--\w|\bdavy \w", it) and re.search(r"[A-Za-z]{2}", it)}
    missing = {it: sources[it] for it in wanted if it not in german}
    assert not missing, "\n".join(f"{where}: {sentence}" for sentence, where in missing.items())


def test_every_folder_and_file_that_is_named_here_exists():
    assert [it for it in (*SHELL_MODULES, *PAGE_ROOMS, *SCHEME_READERS) if not (PACKAGE / it).exists()] == []


def test_no_german_error_is_left_over_or_has_more_values_than_the_english_one():
    said = set()
    for path in PACKAGE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        said |= {(written(node) or "").strip() for node in nodes if isinstance(node, ast.expr)}
    for english, german in translations_of("errors", "de").items():
        assert english in said, f"nobody says this any more: {english}"
        numbers = [name for _, name, _, _ in string.Formatter().parse(german) if name is not None]
        assert len(numbers) <= english.count("{}"), german
        assert german.format(*("x" for _ in range(english.count("{}")))), german


def test_one_of_a_thing_is_not_said_as_many_and_a_language_goes_by_its_name():
    english, german = Translator("en"), Translator("de")
    assert english("going.not_full", n=1) == "One post still needs answers."
    assert english("going.not_full", n=2) == "2 posts still need answers."
    assert german("going.cases", n=1) == "Ein Fall wartet auf eine Fachkraft."
    assert english("going.round_open", n=1) == "It closes with round 1."
    assert (english.language("fr"), german.language("fr"), german.language("xx")) == ("French", "Französisch", "xx")


def test_an_error_is_told_in_german_with_its_values():
    german = Translator("de")
    assert (
        german.error("This post has its shared answer already.") == "Dieser Beitrag hat schon seine gemeinsame Antwort."
    )
    assert (
        german.error("There is no project 'mil'. Did you mean 'mill'?")
        == "Es gibt kein Projekt 'mil'. Meinten Sie 'mill'?"
    )
    assert german.error("There is no picture 'x' in /y.") == "In /y gibt es kein Bild 'x'."
    assert german.error("Nobody wrote this.") == "Nobody wrote this."
    assert Translator("en").error("There is no phase 'a'.") == "There is no phase 'a'."


def test_what_the_audit_records_is_there_in_german(site):
    fill_rooms(site)
    german = translations_of("events", "de")
    recorded = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("events.record", "_record"):
                recorded |= {
                    str(it.value.value)
                    for it in node.keywords
                    if it.arg == "what" and isinstance(it.value, ast.Constant)
                }
                recorded |= {str(it.arg) for it in node.keywords if it.arg not in ("what", "by", "about", None)}
    with site.store.read() as db:
        for it in events.latest(db, limit=500):
            recorded |= {it.what, "scheme draft" if it.about.startswith("scheme draft ") else it.about.split()[0]}
    missing = {it for it in recorded if it not in german and Translator("de").event(it) == it}
    assert not missing


def test_details_of_the_audit_are_said_in_the_readers_words_with_nothing_left_out():
    told = {
        "user added": {"role": "annotator"},
        "member roles changed": {"user": "u1", "was": ["manager"], "roles": ["manager", "annotator"]},
        "phase added": {"phase": "main", "kind": "calibration"},
        "job done": {"kind": "measure agreement"},
        "post settled": {"basis": {"hate": "unanimous", "type": "majority"}},
        "challenge person added": {"organiser": True},
        "cases decided together": {"decision": "answer", "cases": 3},
        "team renamed": {"was": "annotator", "name": "Lamplighters"},
    }
    moment = datetime(2026, 11, 18, tzinfo=UTC)
    recorded = [AuditEvent(n, moment, "system", what, "job x", it) for n, (what, it) in enumerate(told.items())]
    invited = AuditEvent(9, moment, "invitation 1k0j", "user added", "user u1", {})
    assert audit_rows(Translator("de"), [invited], {"u1": "Ada"})[0].by == "Einladung 1k0j"
    rows = audit_rows(Translator("de"), recorded, {"u1": "Ada"})
    assert {(row.by, row.about) for row in rows} == {("System", "Auftrag x")}
    assert [row.details for row in rows] == [
        "Rolle: Annotation",
        "Person: Ada; vorher: Leitung; Rollen: Leitung, Annotation",
        "Phase: main; Art: Kalibrierung",
        "Art: Übereinstimmung messen",
        "Grundlage: hate: einstimmig, type: Mehrheit",
        "veranstaltet: ja",
        "Entscheidung: Antwort; Fälle: 3",
        "vorher: annotator; Name: Lamplighters",
    ]
    assert [row.details for row in audit_rows(Translator("en"), recorded, {})][4:6] == [
        "basis: hate: unanimous, type: majority",
        "organiser: yes",
    ]


def test_every_figure_that_boards_rank_by_has_a_name_in_both_languages():
    for lang in LANGUAGES:
        assert all(Translator(lang).has(f"metric.{name}") for name in TITLES)
    assert {Translator(lang)("metric.macro_f1") for lang in LANGUAGES} == {TITLES["macro_f1"]}


def test_figures_of_a_table_are_written_in_the_readers_way_with_a_true_minus():
    cell = Column("R(S)", "metric").shown(Metric("r", 0.25, 4, -0.333, 1.0))
    assert Translator("en").figures(cell) == "0.250 [−0.333, 1.000]"
    assert Translator("de").figures(cell) == "0,250 [−0,333; 1,000]"
    assert Translator("de").table_word("R1: accuracy") == "R1: Anteil richtig"
    assert Translator("de").table_word("attack on a thing, not on people (6)").endswith("nicht auf Menschen (6)")
    assert Translator("de").table_word("dev and test") == "Entwicklung und Test"
    assert Translator("de").report(choice_table([], "R2").note).startswith("Gewichteter Anteil richtig: zur Hälfte R2,")
    assert Translator("de").table_word("not hateful") == "Nicht hasserfüllt"
    assert Translator("de").table_word("20 (50.5)") == "20 (50,5)"
    assert Translator("de").table_word("emoji-duel-target@9e3e546c13ce") == "emoji-duel-target@9e3e546c13ce"
    assert Translator("de").interval(-0.25, 0.5, 2) == "[−0,25; 0,50]"


def test_what_the_store_refuses_and_the_audit_are_german_on_german_pages_and_english_for_programs(site):
    fill(site)
    client = site.as_("admin")
    post(client, "/language", {"lang": "de", "next": "/"})
    assert "hat keine Phase &#39;nowhere&#39;" in client.get("/projects/p/phases/nowhere").text
    answer = client.get("/projects/p/phases/nowhere", headers={"accept": "application/json"})
    assert "has no phase 'nowhere'" in answer.json()["error"]
    assert "Sitzung begonnen" in client.get("/audit").text


def test_every_question_and_label_that_ships_has_a_german_title():
    from davy import schemes
    from davy.detectors.embedded import shipped_names
    from davy.detectors.load import DEFAULT, load

    asked = [question for name in schemes.names() for question in schemes.load(name).questions]
    asked += load(DEFAULT).questions if shipped_names() else ()
    german = shipped_titles("de")
    named = [(it.title, it.name) for question in asked for it in (question, *question.labels)]
    missing = {
        name for title, name in named if "de" not in title and (title.said_in("en") or name).casefold() not in german
    }
    assert not missing


def test_headings_names_of_questions_and_notes_and_changes_of_guidelines_that_ship_are_there_in_german():
    from davy import schemes
    from davy.core import FLAGS

    shipped = [schemes.load(name) for name in schemes.names()]
    asked = [question for scheme in shipped for question in scheme.questions]
    guidelines = [guideline for scheme in shipped for guideline in scheme.guidelines]
    names = {it.name for it in asked} | {label.group for it in asked for label in it.labels if label.group}
    names |= {name for it in guidelines for name in it.notes if name not in FLAGS} | {it.changes for it in guidelines}
    assert not {name for name in names if name.casefold() not in shipped_titles("de")}
    titles = {label.title.said_in("en").casefold() for it in asked for label in it.labels}
    titles |= {label.name for it in asked for label in it.labels}
    spare = set(translations_of("labels", "de")) - titles - {name.casefold() for name in names}
    assert spare == {"marked", "not marked"}, "nothing that ships is called so"


def test_a_label_is_called_by_its_own_title_then_as_shipped_ones_are_then_by_its_name():
    assert translated_title(Wording({"en": "Hateful", "de": "Gemein"}), "hateful", "de") == "Gemein"
    assert translated_title(Wording("Hateful"), "hateful", "de") == "Hasserfüllt"
    assert translated_title(Wording(), "hateful", "de") == "Hasserfüllt"
    assert translated_title(Wording(), "hateful", "en") == "hateful"
    assert translated_title(Wording("Purple"), "purple", "de") == "Purple"
