"""A challenge whose posts have pictures: kept by key, given out with the released posts, gone with a withdrawn one."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from challenge_case import START, rows, write_files
from davy.annotation.project.images import folder_of
from davy.annotation.project.store import withdrawals
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import read_plan
from davy.challenges.challenge_kit import write_kit
from davy.core import UserError
from davy.store import Store
from drawn_memes import draw


def write_pictures(folder: Path) -> Path:
    """Write the challenge with a picture for each post, whose file name tells its label; return its YAML file."""
    file = write_files(folder)
    (folder / "img").mkdir()
    for part in ("train", "test"):
        kept = []
        for number, row in enumerate(rows(part)):
            name = f"{row['complaint']}-{part}-{number}.png"
            (folder / "img" / name).write_bytes(draw(number if part == "test" else 100 + number))
            kept.append({**row, "image": name})
        with (folder / f"{part}.csv").open("w", newline="") as table:
            writer = csv.DictWriter(table, list(kept[0]))
            writer.writeheader()
            writer.writerows(kept)
    file.write_text(file.read_text().replace("data:\n", "images: img\ndata:\n", 1), encoding="utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "images"))
    return write_pictures(tmp_path / "files").parent


def make(store: Store, folder: Path) -> None:
    create_challenge(store, read_plan(folder / "mill-valley.yaml", at=START), folder, by="shell", organiser=None)


def kit(store: Store, tmp_path: Path, day: float) -> dict[str, bytes]:
    path = tmp_path / "kit.zip"
    write_kit(store, "mill-valley", path, at=START + timedelta(days=day))
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def images(kit: dict[str, bytes], name: str) -> list[str]:
    return [json.loads(line)["image"] for line in kit[f"data/{name}.jsonl"].splitlines()]


def pictures(kit: dict[str, bytes]) -> set[str]:
    return {name.removeprefix("pictures/") for name in kit if name.endswith(".png")}


def test_the_kit_has_the_pictures_of_released_posts_and_no_name_that_tells_a_label(store, folder, tmp_path):
    make(store, folder)
    before, during = kit(store, tmp_path, 5), kit(store, tmp_path, 33)
    assert pictures(before) == set(images(before, "train")), "the test's pictures wait with its posts"
    assert pictures(during) == {*images(during, "train"), *images(during, "test-A")}
    credits = list(csv.DictReader(io.StringIO(during["pictures/credits.csv"].decode())))
    assert {row["name"] for row in credits} == pictures(during)
    assert b"yes-test" not in b"".join(during.values())
    assert b"no-test" not in b"".join(during.values())


def test_a_picture_that_is_missing_refuses_the_challenge_and_keeps_no_file(store, folder):
    next((folder / "img").glob("yes-test-*")).unlink()
    with pytest.raises(UserError, match="1 of the 80 pictures that posts name are not in"):
        make(store, folder)
    assert not list(folder_of(store).keys())


def test_a_challenge_that_can_t_be_made_keeps_no_file(store, folder):
    make(store, folder)
    kept = set(folder_of(store).keys())
    (folder / "img" / "yes-test-1.png").write_bytes(draw(999))
    with pytest.raises(UserError, match="already"):
        make(store, folder)
    assert set(folder_of(store).keys()) == kept


def test_pictures_outside_the_challenge_s_folder_are_refused(store, folder):
    file = folder / "mill-valley.yaml"
    file.write_text(file.read_text().replace("images: img", "images: ../.."), encoding="utf-8")
    with pytest.raises(UserError, match="outside the challenge's folder"):
        make(store, folder)


def test_a_withdrawn_post_takes_its_picture_with_it(store, folder, tmp_path):
    make(store, folder)
    before = dict(zip([row["id"] for row in rows("test")], images(kit(store, tmp_path, 33), "test-A"), strict=True))
    with store.write() as db:
        counts = withdrawals.withdraw(db, ["test-4"], by="shell")
    assert [f"{key}.png" for key in counts.images] == [before["test-4"]]
    after = kit(store, tmp_path, 33)
    assert before["test-4"] not in pictures(after)
    lines = [json.loads(line) for line in after["data/test-A.jsonl"].splitlines()]
    assert [line for line in lines if line["id"] == "test-4"] == [{"id": "test-4", "text": ""}]
