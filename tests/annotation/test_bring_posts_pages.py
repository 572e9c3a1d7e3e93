"""Bringing posts in the browser: Excel, columns, encodings, pictures, what is new, and a form that loses nothing."""

from __future__ import annotations

import html
import io
import re
import zipfile
from dataclasses import replace

import pytest

from davy.annotation.project.pages import upload_form
from davy.annotation.project.store import images, phases, posts, projects
from davy.people.store import users
from drawn_memes import draw
from excel_file import excel_file
from web_site import Site, make_site, token_in

FORM = {"start": "scheme:hate", "name": "fresh", "title": "Fresh", "posts": "file"}
SHEET = [
    ("Nummer", "Was da stand", "Art"),
    (1.0, "Grüße vom Fluss", "hateful"),
    (2.0, "Die Tomaten sind reif", "not hateful"),
]


def send(client, data: bytes, file: str, path="/projects/new/upload", **fields):
    files = {"file": (file, data)} if data else {}
    token = token_in(client.get("/projects/new?start=scheme:hate").text)
    return client.post(path, data={"csrf": token, **FORM, **fields}, files=files)


def kept_id(answer) -> str:
    return re.search(r'name="upload" value="(\w+)"', answer.text)[1]


def texts(site: Site, project="fresh") -> dict[str, str]:
    with site.store.read() as db:
        return {
            row[0]: row[1] for frame in posts.frames(db, project=project) for row in frame.select("id", "text").rows()
        }


def test_an_excel_file_is_shown_first_and_its_columns_are_chosen(site):
    client = site.as_("expert")
    seen = send(client, excel_file(SHEET), "Beiträge.xlsx")
    assert seen.status_code == 200
    assert '<td dir="auto">Grüße vom Fluss</td>' in seen.text
    assert '<option value="Was da stand" selected>' in seen.text  # the longest texts are the likely posts
    assert 'value="Fresh"' in seen.text
    with site.store.read() as db:
        assert projects.list_projects(db) == []
    chosen = {"columns": "chosen", "column.text": "Was da stand", "column.id": "Nummer", "gold.hate": "Art"}
    made = send(client, b"", "", upload=kept_id(seen), **chosen, all_lang="de", id_prefix="may-")
    assert made.status_code == 303, made.text
    assert texts(site) == {"may-1": "Grüße vom Fluss", "may-2": "Die Tomaten sind reif"}
    with site.store.read() as db:
        frame = next(posts.frames(db, project="fresh"))
    assert frame["lang"].to_list() == ["de", "de"]
    assert upload_form.find_upload(site.settings, site.people["expert"].id, kept_id(seen)) is None


def test_a_file_with_known_columns_needs_no_second_step(site):
    assert send(site.as_("expert"), excel_file([("id", "text"), ("a", "one")]), "p.xlsx").status_code == 303
    assert texts(site) == {"a": "one"}


def test_a_text_of_one_post_a_line_is_read(site):
    assert send(site.as_("expert"), b"eins\nzwei, drei\n", "p.txt").status_code == 303
    assert texts(site) == {"p-1": "eins", "p-2": "zwei, drei"}


def test_another_encoding_is_seen_and_chosen(site):
    client = site.as_("expert")
    seen = send(client, "id,text\n1,Grüße\n".encode("cp1252"), "p.csv")
    assert seen.status_code == 200
    assert "Grüße" in seen.text
    assert '<option value="cp1252" selected>' in seen.text
    chosen = {"columns": "chosen", "column.text": "text", "column.id": "id", "upload": kept_id(seen)}
    wrong = send(client, b"", "", **chosen, encoding="utf-8")
    assert wrong.status_code == 422
    assert "Encoding: the file can&#39;t be read as utf-8." in wrong.text
    assert "--" not in html.unescape(re.search(r'class="fault"[^>]*>(.*?)</div>', wrong.text, re.S)[1])
    assert send(client, b"", "", **chosen, encoding="cp1252").status_code == 303
    assert texts(site) == {"1": "Grüße"}


def test_what_excel_calls_unicode_text_is_read(site):
    client = site.as_("expert")
    seen = send(client, "id\ttext\n1\tGrüße\n".encode("utf-16"), "p.txt.tsv")
    assert '<option value="utf-16" selected>' in seen.text
    chosen = {"columns": "chosen", "column.text": "text", "column.id": "id", "encoding": "utf-16"}
    assert send(client, b"", "", upload=kept_id(seen), **chosen).status_code == 303
    assert texts(site) == {"1": "Grüße"}


def test_a_new_phase_takes_a_file_with_the_usual_columns_and_names_no_shell_option(site):
    client = site.as_("expert")
    send(client, b"id,text\na,one\n", "p.csv")
    path = "/projects/fresh/phases/upload"
    odd = send(client, b"x,y\n1,2\n", "p.csv", path, name="more", kind="production", answers="")
    assert odd.status_code == 422
    assert "File: none of its columns is called like a text (x, y)." in odd.text
    assert "--text-column" not in odd.text
    sheet = excel_file([("id", "text"), ("b", "two")])
    made = send(client, sheet, "p.xlsx", path, name="more", kind="production", answers="")
    assert made.status_code == 303
    assert texts(site) == {"a": "one", "b": "two"}


def test_more_files_than_a_form_takes_are_refused_in_words(site):
    client = site.as_("expert")
    token = token_in(client.get("/projects/new").text)
    files = [("pictures", (f"{n}.png", b"x")) for n in range(501)]
    answer = client.post("/projects/new/upload", data={"csrf": token, **FORM}, files=files)
    assert answer.status_code == 413
    assert "Pictures: at most 500 files at once." in answer.text


@pytest.mark.parametrize(
    ("data", "chosen", "said"),
    [
        (b"nr,satz\n1,a\n1,b\n", {"column.text": "satz", "column.id": "nr"}, "Spalte für Kennung: „1“ steht zweimal"),
        (b"nr,satz\n1,a\n", {"column.id": "nr"}, "Spalte für Text: Wählen Sie die mit den Beiträgen"),
        (b"nr,satz\n1,\n", {"column.text": "satz"}, "Spalte für Text: Sie ist in jeder Zeile leer."),
    ],
)  # fmt: skip
def test_errors_speak_the_language_of_the_page_and_name_its_field(site, data, chosen, said):
    with site.store.write() as db:
        users.set_language(db, site.people["expert"].id, "de", by="shell")
    client = site.as_("expert")
    seen = send(client, data, "p.csv", do="look")
    answer = send(client, b"", "", upload=kept_id(seen), columns="chosen", **chosen)
    assert answer.status_code == 422
    assert said in answer.text
    assert kept_id(answer) == kept_id(seen)  # the file was not lost


def test_what_was_typed_and_sent_stays_when_another_field_is_wrong(site):
    client = site.as_("expert")
    wrong = send(client, b"id,text\na,one\n", "p.csv", roster="ada boss", answers="7")
    assert wrong.status_code == 422
    assert "p.csv is here." in wrong.text
    assert 'value="7"' in wrong.text
    made = send(client, b"", "", upload=kept_id(wrong), columns="chosen", **{"column.text": "text", "column.id": "id"})
    assert made.status_code == 303
    assert texts(site) == {"a": "one"}


def test_nobody_gets_the_file_that_another_sent(site):
    seen = send(site.as_("expert"), b"id,text\na,secret of the expert\n", "p.csv", do="look")
    theirs = send(site.as_("admin"), b"", "", upload=kept_id(seen), do="look")
    assert theirs.status_code == 422
    assert "secret" not in theirs.text
    for odd in ("../../etc", "x" * 20, "%00"):
        assert send(site.as_("expert"), b"", "", upload=odd).status_code == 422


def test_only_the_last_few_files_that_somebody_sent_are_kept(site):
    client = site.as_("expert")
    ids = [kept_id(send(client, b"id,text\na,one\n", "p.csv", do="look")) for _ in range(7)]
    owner = site.people["expert"].id
    there = [upload_id for upload_id in ids if upload_form.find_upload(site.settings, owner, upload_id)]
    assert there == ids[-upload_form.MOST_KEPT :]


def test_a_second_upload_says_what_is_new_and_what_was_there(site):
    client = site.as_("expert")
    send(client, b"id,text\na,one\nb,two\n", "p.csv")
    path = "/projects/fresh/phases/main/upload"
    assert client.get("/projects/fresh/phases/main/posts").status_code == 200
    more = send(client, b"id,text\na,one\nb,two\nc,three\nd,Three\ne,\n", "p.csv", path, distinct="yes")
    assert more.status_code == 303
    said = client.get(more.headers["location"]).text
    assert "1 new posts are in phase main; 2 were there already, and 2 rows were left out" in said
    again = send(client, b"id,text\na,one\nb,two\n", "p.csv", path)
    assert "0 new posts are in phase main; 2 were there already." in client.get(again.headers["location"]).text
    changed = send(client, b"id,text\na,other\nz,new\n", "p.csv", path)
    assert changed.status_code == 409
    assert "1 posts of the file are here already with other words or another picture, such as “a”." in changed.text
    assert texts(site) == {"a": "one", "b": "two", "c": "three"}
    moved = send(client, b"", "", path, upload=kept_id(changed), columns="chosen", id_prefix="june-",
                 **{"column.text": "text", "column.id": "id"})  # fmt: skip
    assert moved.status_code == 303
    assert texts(site)["june-a"] == "other"
    with site.store.read() as db:
        assert phases.by_name(db, "fresh", "main").size == 5


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"memes/{name}.png", data)
    return out.getvalue()


def test_pictures_come_as_a_zip_with_a_table_without_texts_and_stay_while_columns_are_chosen(site):
    client = site.as_("expert")
    token = token_in(client.get("/projects/new").text)
    table = excel_file([("Datei", "Quelle"), ("eins.png", "x"), ("zwei.png", "y")])
    files = {"file": ("memes.xlsx", table), "pictures": ("m.zip", zipped(eins=draw(1), zwei=draw(2)))}
    seen = client.post("/projects/new/upload", data={"csrf": token, **FORM, "do": "look"}, files=files)
    assert "m.zip is here." in seen.text
    made = send(client, b"", "", upload=kept_id(seen), columns="chosen", **{"column.image": "Datei"})
    assert made.status_code == 303, made.text
    assert texts(site) == {"memes-1": "", "memes-2": ""}
    with site.store.read() as db:
        assert images.count(db, "fresh") == 2


def test_pictures_alone_are_posts_and_more_come_to_the_phase_later(site):
    client = site.as_("expert")
    token = token_in(client.get("/projects/new").text)
    files = [("pictures", ("a.png", draw(1))), ("pictures", ("b.png", draw(2)))]
    made = client.post("/projects/new/upload", data={"csrf": token, **FORM}, files=files)
    assert made.status_code == 303, made.text
    assert texts(site) == {"a.png": "", "b.png": ""}
    more = [("pictures", ("m.zip", zipped(b=draw(2), c=draw(3))))]
    path = "/projects/fresh/phases/main/upload"
    assert client.post(path, data={"csrf": token}, files=more).status_code == 303
    with site.store.read() as db:
        assert images.count(db, "fresh") == 3
        assert phases.by_name(db, "fresh", "main").size == 3


def test_the_limit_is_named_before_and_after_a_large_upload(settings, empty_database):
    with make_site(replace(settings, max_upload=2_000_000), empty_database).started() as site:
        client = site.as_("expert")
        assert "up to 2 MB" in send(client, b"", "", step="start").text
        answer = send(client, b"x" * 2_100_000, "p.csv")
        assert answer.status_code == 413
        assert "more than the 2 MB that this server takes at once" in answer.text


def repeating_sheet(text: str, rows: int) -> bytes:
    """Return a spreadsheet that says one text once and has it in a hundred cells of each row."""
    office = "http://schemas.openxmlformats.org"
    sheet = ("<row>" + '<c t="s"><v>0</v></c>' * 100 + "</row>") * rows
    link = f'<Relationship Id="rId2" Type="{office}/officeDocument/2006/relationships/sharedStrings" '
    changes = {
        "xl/worksheets/sheet1.xml": ("<sheetData></sheetData>", f"<sheetData>{sheet}</sheetData>"),
        "xl/_rels/workbook.xml.rels": ("</Relationships>", f'{link}Target="sharedStrings.xml"/></Relationships>'),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(excel_file([]))) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, old.read(part).decode().replace(*changes.get(part, ("", ""))))
        said = f'<sst xmlns="{office}/spreadsheetml/2006/main"><si><t>{text}</t></si></sst>'
        new.writestr("xl/sharedStrings.xml", said)
    return out.getvalue()


@pytest.mark.parametrize(
    ("length", "rows", "said"),
    [(500_000, 3, "longer than Excel allows"), pytest.param(30_000, 2_000, "memory", marks=pytest.mark.slow)],
)
def test_a_spreadsheet_that_would_fill_the_memory_is_refused(site, length, rows, said):
    answer = send(site.as_("expert"), repeating_sheet("x" * length, rows), "bomb.xlsx")
    assert answer.status_code == 413
    assert said in answer.text


def test_a_spreadsheet_may_say_a_text_once_and_have_it_in_many_cells(site):
    assert "xxx" in send(site.as_("expert"), repeating_sheet("xxx", 2), "p.xlsx", do="look").text
