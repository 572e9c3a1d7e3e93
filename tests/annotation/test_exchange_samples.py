"""Files in the shape that each tool writes itself, made up by us; and what other programs make of ours."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
import yaml

from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.exchange.formats import FORMATS, find_format
from davy.core import UserError
from exchange_case import about, fill, rows, scheme

LABEL_STUDIO = [
    {
        "id": 41,
        "annotations": [
            {
                "id": 77,
                "completed_by": 3,
                "result": [
                    {
                        "value": {"choices": ["hateful"]},
                        "id": "Kx1",
                        "from_name": "hate",
                        "to_name": "text",
                        "type": "choices",
                        "origin": "manual",
                    },
                    {
                        "value": {"choices": ["women", "trains"]},
                        "id": "Kx2",
                        "from_name": "target",
                        "to_name": "text",
                        "type": "choices",
                    },
                    {
                        "value": {"rating": 2},
                        "id": "Kx3",
                        "from_name": "severity",
                        "to_name": "text",
                        "type": "rating",
                    },
                    {
                        "value": {"text": ["not sure"]},
                        "id": "Kx4",
                        "from_name": "why",
                        "to_name": "text",
                        "type": "textarea",
                    },
                ],
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": "2024-03-09T22:16:08.728353Z",
                "updated_at": "2024-03-09T22:16:09Z",
                "draft_created_at": None,
                "lead_time": 4.288,
                "prediction": {},
                "result_count": 4,
                "unique_id": "2d1b2d0a-0000-4000-8000-000000000000",
                "import_id": None,
                "last_action": None,
                "task": 41,
                "project": 8,
                "updated_by": 3,
            },
            {
                "id": 78,
                "completed_by": {"id": 4, "email": "somebody@example.org", "first_name": "Some", "last_name": "Body"},
                "result": [],
                "was_cancelled": True,
                "created_at": "2024-03-10T10:00:00Z",
                "lead_time": 1.5,
                "task": 41,
            },
        ],
        "file_upload": "tea.csv",
        "drafts": [],
        "predictions": [
            {"model_version": "m1", "score": 0.9, "result": [{"from_name": "hate", "value": {"choices": ["hateful"]}}]}
        ],
        "data": {"text": "a grumblefop text", "lang": "en"},
        "meta": {},
        "created_at": "2024-03-01T00:00:00Z",
        "inner_id": 1,
        "total_annotations": 1,
        "cancelled_annotations": 1,
        "project": 8,
        "updated_by": 3,
        "comment_authors": [],
    }
]


def read(tmp_path, name, content, *, file="sample"):
    """Return the rows of a sample."""
    format = find_format(name)
    path = tmp_path / f"{file}.{format.endings[0]}"
    path.write_text(content, encoding="utf-8")
    return list(format.read(path, about()))


def test_label_studio_tasks_are_read_with_choices_ratings_skips_and_predictions(tmp_path):
    (row,) = read(tmp_path, "label-studio", json.dumps(LABEL_STUDIO, indent=2))
    assert (row.id, row.text, row.lang) == ("sample-41", "a grumblefop text", "en")
    assert row.meta["predictions"][0]["model_version"] == "m1"
    first, second = row.given
    assert dict(first.answers) == {"hate": ("hateful",), "target": ("women", "trains"), "severity": ("2",)}
    assert (first.annotator, first.comment, first.seconds) == ("3", "not sure", 4.288)
    assert first.at == datetime(2024, 3, 9, 22, 16, 8, 728353, UTC)
    assert (second.annotator, second.flags, dict(second.answers)) == ("4", ("refused",), {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda task: task.pop("data"), "task 1 has no 'data'"),
        (lambda task: task.update(data={"url": 3}), "task 1 has no text"),
        (lambda task: task["annotations"][0].pop("completed_by"), "without completed_by"),
        (lambda task: task["annotations"][0]["result"][0].update(from_name="mood"), "'mood' is no question"),
        (lambda task: task["annotations"][0]["result"][0].update(type="rectanglelabels"), "no answer to a question"),
        (lambda task: task["annotations"][0].update(lead_time=-3), "lead_time is '-3'"),
        (lambda task: task["annotations"][0].update(created_at="yesterday"), "'yesterday' is not a time"),
        (lambda task: task.update(annotations="none"), "annotations is not a list"),
    ],
)
def test_what_is_wrong_in_a_task_is_said_with_its_number(tmp_path, change, said):
    tasks = json.loads(json.dumps(LABEL_STUDIO))
    change(tasks[0])
    with pytest.raises(UserError, match=r"sample\.json: task 1") as caught:
        read(tmp_path, "label-studio", json.dumps(tasks))
    assert said in caught.value.message
    assert "grumblefop" not in caught.value.message


def test_doccano_lines_and_a_zip_with_a_file_a_person_are_read(tmp_path):
    line = {
        "id": 12,
        "text": "a text",
        "label": ["not hateful"],
        "Comments": ["why"],
        "annotator": "ann",
        "topic": "tea",
    }
    (row,) = read(tmp_path, "doccano", json.dumps(line) + "\n")
    assert (row.id, dict(row.meta), row.given[0].comment) == ("12", {"topic": "tea"}, "why")
    assert dict(row.given[0].answers) == {"hate": ("not hateful",)}

    folder = tmp_path / "unpacked"
    folder.mkdir()
    for person, label in (("admin", ["hate=hateful", "women"]), ("ben", [])):
        told = {"id": 12, "text": "a text", "label": label, "Comments": []}
        (folder / f"{person}.jsonl").write_text(json.dumps(told) + "\n")
    first, second = find_format("doccano").read(folder, about())
    assert [(it.annotator, dict(it.answers)) for it in first.given] == [
        ("admin", {"hate": ("hateful",), "target": ("women",)})
    ]
    assert second.given == ()

    with pytest.raises(UserError, match="line 1 labels a span"):
        read(tmp_path, "doccano", json.dumps({**line, "label": [[0, 2, "hateful"]]}))
    with pytest.raises(UserError, match="line 1 has labels but no annotator"):
        read(tmp_path, "doccano", json.dumps({"id": 1, "text": "t", "label": ["hateful"]}))
    with pytest.raises(UserError, match="'lovely' is a label of no question"):
        read(tmp_path, "doccano", json.dumps({**line, "label": ["lovely"]}))


def test_prodigy_lines_of_choice_and_binary_tasks_are_read_in_any_order(tmp_path):
    def choice(text, hash_, accept, who, answer="accept", options=("hateful", "not hateful")):
        return {
            "text": text,
            "_input_hash": hash_,
            "_task_hash": hash_ + 1,
            "options": [{"id": it, "text": it} for it in options],
            "_view_id": "choice",
            "accept": accept,
            "config": {"choice_style": "single"},
            "answer": answer,
            "_timestamp": 1714566615,
            "_annotator_id": who,
            "_session_id": who,
            "meta": {"source": "tea"},
        }

    lines = [
        choice("one", -7, ["hateful"], "tea-ann"),
        choice("two", 9, [], "tea-ann", answer="ignore"),
        choice("one", -7, ["women"], "tea-ann", options=("women", "trains", "tea drinkers")),
        {**choice("one", -7, [], "tea-ben"), "label": "hateful", "answer": "reject"},
    ]
    for key in ("accept", "options"):
        lines[3].pop(key)
    one, two = read(tmp_path, "prodigy", "\n".join(json.dumps(it) for it in lines))
    assert (one.id, dict(one.meta)) == ("prodigy--7", {"source": "tea"})
    assert [dict(it.answers) for it in one.given] == [
        {"hate": ("hateful",), "target": ("women",)},
        {"hate": ("not hateful",)},
    ]
    assert one.given[0].at == datetime(2024, 5, 1, 12, 30, 15, tzinfo=UTC)
    assert two.given[0].flags == ("refused",)


def test_argilla_records_are_read_by_question_and_by_person(tmp_path):
    person, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    by_question = {
        "id": "r1",
        "fields": {"text": "a text"},
        "metadata": {"topic": "tea"},
        "suggestions": {"hate": {"value": "hateful", "score": 0.7, "agent": "m1"}},
        "responses": {
            "hate": [{"value": "hateful", "user_id": person}, {"value": "not hateful", "user_id": other}],
            "target": [{"value": ["women"], "user_id": person}],
        },
        "vectors": {},
        "status": "completed",
        "_server_id": None,
    }
    by_person = {
        **by_question,
        "id": "r2",
        "responses": [
            {"user_id": person, "status": "submitted", "values": {"hate": {"value": "hateful"}}},
            {"user_id": other, "status": "discarded", "values": {}},
        ],
    }
    one, two = read(tmp_path, "argilla", json.dumps([by_question, by_person]))
    assert {it.annotator: dict(it.answers) for it in one.given} == {
        person: {"hate": ("hateful",), "target": ("women",)},
        other: {"hate": ("not hateful",)},
    }
    assert one.meta["topic"] == "tea"
    assert one.meta["suggestions"]["hate"]["agent"] == "m1"
    assert [(it.annotator, it.flags) for it in two.given] == [(person, ()), (other, ("refused",))]


def test_a_table_of_crowd_kit_is_read(tmp_path):
    table = "task,worker,label\n1,w1,hateful\n1,w2,not hateful\n2,w1,hateful\n"
    path = tmp_path / "crowd.csv"
    path.write_text(table)
    first, second = find_format("crowd").read(path, about(question="hate"))
    assert [(it.annotator, it.answers["hate"]) for it in first.given] == [
        ("w1", ("hateful",)),
        ("w2", ("not hateful",)),
    ]
    assert (second.id, len(second.given)) == ("2", 1)
    path.write_text(table + "2,w1,hateful\n")
    with pytest.raises(UserError, match=r"row 4 answers 'hate' about task '2' a second time"):
        list(find_format("crowd").read(path, about(question="hate")))


def test_a_hugging_face_folder_is_what_its_card_says_to_another_reader(store, tmp_path):
    fill(store)
    folder = tmp_path / "corpus"
    export_project(store, ExportRequest("tea-1", "huggingface"), folder)
    header = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    configs = {it["config_name"]: it["data_files"] for it in header["configs"]}
    assert set(configs) == {"default", "annotations"}
    found = {
        (config, part["split"]): pq.read_table([str(it) for it in sorted(folder.glob(part["path"]))])
        for config, parts in configs.items()
        for part in parts
    }
    told = scheme()
    settled = [
        row
        for row in rows()
        if row.settled and not told.faults({k: v.labels for k, v in row.settled.items()}, complete=True)
    ]
    assert found["default", "train"].num_rows == len(settled)
    assert found["default", "unsettled"].num_rows == len(rows()) - len(settled)
    assert found["annotations", "train"].num_rows == 3 * len(rows())
    assert found["default", "train"]["text"].to_pylist() == [row.text for row in settled]
    assert found["annotations", "train"]["target"].to_pylist()[0] == []
    assert header["language"] == ["de"]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_codabench_bundle_names_only_files_that_it_has_and_its_program_runs_alone(store, tmp_path):
    fill(store)
    bundle = tmp_path / "bundle.zip"
    export_project(store, ExportRequest("tea-1", "codabench"), bundle)
    folder = tmp_path / "unpacked"
    zipfile.ZipFile(bundle).extractall(folder)
    told = yaml.safe_load((folder / "competition.yaml").read_text(encoding="utf-8"))
    named = [told["image"], told["terms"], *(page["file"] for page in told["pages"])]
    named += [told["tasks"][0][part] for part in ("input_data", "reference_data", "scoring_program")]
    assert [name for name in named if not (folder / name).exists()] == []
    assert (folder / "logo.png").read_bytes().startswith(b"\x89PNG")

    settled = [row for row in rows() if row.settled]
    work = tmp_path / "input"
    (work / "res").mkdir(parents=True)
    (folder / "reference_data").rename(work / "ref")
    guesses = ["hateful" if number % 4 else "not hateful" for number in range(len(settled))]
    table = "".join(f"{row.id},{guess},women|trains\n" for row, guess in zip(settled, guesses, strict=True))
    (work / "res" / "predictions.csv").write_text("id,hate,target\n" + table)
    program = folder / "scoring_program" / "score.py"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", str(program), str(work), str(tmp_path / "output")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    scores = json.loads((tmp_path / "output" / "scores.json").read_text())
    # Every reference says "hateful", so macro-F1 over the labels of the reference is that label's F1.
    hits = sum(guess == "hateful" for guess in guesses)
    assert scores["hate_accuracy"] == pytest.approx(hits / len(settled))
    assert scores["hate_macro_f1"] == pytest.approx(2 * hits / (2 * hits + len(settled) - hits))
    assert {column["key"] for column in told["leaderboards"][0]["columns"]} >= {"macro_f1", "hate_macro_f1"}
    (work / "res" / "predictions.csv").unlink()
    ran = subprocess.run([sys.executable, str(program), str(work), str(tmp_path)], capture_output=True, check=False)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (1, False)


def test_no_export_holds_an_account_a_name_or_a_login(store, tmp_path):
    fill(store)
    with store.read() as db:
        from davy.people.store import users

        secrets = [part for user in users.list_users(db) for part in (user.id, user.login, user.name)]
    for name, format in FORMATS.items():
        path = tmp_path / f"{name}.{format.endings[0]}"
        export_project(store, ExportRequest("tea-1", name, phases="all"), path)
        content = b"".join(_plain(it) for it in _files(path))
        assert b"p000" in content, name
        leaked = [it for it in secrets if it.encode() in content or it.encode("utf-16-le") in content]
        assert leaked == [], name


def _files(path):
    """Return (name, bytes) of a file, or of each file in a zip."""
    if path.suffix != ".zip":
        return [(path.name, path.read_bytes())]
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _plain(file):
    """Return a file's words: Parquet is packed, so its cells are spelt out."""
    name, content = file
    if not name.endswith(".parquet"):
        return content
    return repr(pq.read_table(io.BytesIO(content)).to_pylist()).encode()


def test_the_data_statement_tells_of_annotators_only_in_counts_that_hide_the_few(store, tmp_path):
    from davy.annotation.care.store import responses
    from davy.annotation.project.store import members
    from davy.people.store import users

    fill(store)
    with store.write() as db:
        odd = users.add(db, login="dora", name="Dora", role="annotator", by="shell")
        members.add(db, "tea-1", odd.id, ["annotator"], by="shell")
        for member in members.of_project(db, "tea-1"):
            said = {"first language": "Basque" if member.user == odd.id else "German", "age": "57"}
            responses.put(db, "tea-1", member.user, "about me", said)
    path = tmp_path / "statement.md"
    export_project(store, ExportRequest("tea-1"), tmp_path / "answers.csv", statement=path)
    words = path.read_text(encoding="utf-8")
    assert "3 people gave 57 answers in the phases 3 (production)." in words
    assert "50–59 (4)" in words
    assert "Basque" not in words
    assert "German (3)" not in words  # four people, so the one left over could be worked out


def test_the_data_statement_tells_what_the_project_knows_of_pay_and_care(store, tmp_path):
    from davy.annotation.project.store import projects

    fill(store)
    care = {"break_after_minutes": 40, "break_minutes": 8, "daily_minutes": None}
    with store.write() as db:
        known = projects.get(db, "tea-1").settings
        settings = {**known, "pay": {"currency": "EUR", "per_hour": 17}, "care": care}
        projects.change_settings(db, "tea-1", settings, by="shell")
    path = tmp_path / "statement.md"
    export_project(store, ExportRequest("tea-1"), tmp_path / "answers.csv", statement=path)
    words = path.read_text(encoding="utf-8")
    assert (
        "Paid 17 EUR an hour. Care: a break of 8 minutes after 40 minutes of work, a break after 20 hard posts;"
        in words
    )
    assert "minutes a day" not in words
