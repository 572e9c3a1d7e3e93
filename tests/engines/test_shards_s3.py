"""Shards in an object store: moto's S3 server, reached over HTTP as Amazon's or MinIO's would be."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import boto3
import polars as pl
import pytest

from davy.engines.shards import open_folder, open_shards, read_slice, slices
from davy.shell.app import run


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield port
    server.terminate()
    server.wait(20)


@pytest.fixture
def bucket(port, monkeypatch) -> Iterator:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-a-test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-a-test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket = boto3.resource("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1").Bucket("archive")
    bucket.create()
    yield bucket
    bucket.objects.all().delete()
    bucket.delete()


def url(port: int, folder: str) -> str:
    return f"s3://archive/{folder}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"


@pytest.fixture
def shards(tmp_path, bucket) -> pl.DataFrame:
    """Three shards of one table, in the bucket and on the disk."""
    texts = [f"Train {i} was {'awful' if i % 5 == 0 else 'late'} again" for i in range(90)]
    frame = pl.DataFrame({"id": [f"p{i}" for i in range(90)], "text": [*texts[:80], *texts[:10]]})
    (tmp_path / "in").mkdir()
    for number in range(3):
        path = tmp_path / "in" / f"part-{number}.parquet"
        frame[30 * number : 30 * number + 30].write_parquet(path, row_group_size=8)
        bucket.upload_file(str(path), f"in/{path.name}")
    return frame


def test_slices_read_from_s3_are_the_rows_of_the_disk(tmp_path, shards, port):
    store, names = open_shards(url(port, "in"))
    disk = open_folder(tmp_path / "in")
    assert names == [f"part-{number}.parquet" for number in range(3)]
    for piece in slices(store, names, 13):
        assert read_slice(store, piece).equals(read_slice(disk, piece))
    store.write("_note", b"x")
    assert store.open("_note").read() == b"x"
    store.remove("_note")
    assert "_note" not in store.names()


@pytest.mark.parametrize("verb", ["score", "clean"])
def test_posts_go_from_s3_to_s3_as_on_a_disk(tmp_path, shards, bucket, port, verb, capsys):
    (tmp_path / "words.txt").write_text("awful\n", encoding="utf-8")
    more = ["--model", f"keywords:{tmp_path / 'words.txt'}@hate"] if verb == "score" else []
    assert run([verb, str(tmp_path / "in"), *more, "--out", str(tmp_path / "out")]) == 0
    assert run([verb, url(port, "in"), *more, "--out", url(port, "out")]) == 0
    written = {it.key for it in bucket.objects.filter(Prefix="out/") if it.key.endswith(".parquet")}
    assert written == {f"out/{path.name}" for path in (tmp_path / "out").glob("*.parquet")}
    for key in written:
        fetched = tmp_path / "fetched.parquet"
        bucket.download_file(key, str(fetched))
        assert pl.read_parquet(fetched).equals(pl.read_parquet(tmp_path / key))


def test_a_stopped_run_in_s3_goes_on(tmp_path, shards, bucket, port, capsys):
    (tmp_path / "words.txt").write_text("awful\n", encoding="utf-8")
    command = ["score", url(port, "in"), "--model", f"keywords:{tmp_path / 'words.txt'}@hate", "--json"]
    assert run([*command, "--out", url(port, "out")]) == 0
    record = json.loads(bucket.Object("out/_davy.json").get()["Body"].read())
    kept, *lost = record["done"]
    bucket.put_object(Key=f"out/_{kept}.json", Body=json.dumps(record["done"][kept]).encode())
    bucket.put_object(Key="out/_davy.json", Body=json.dumps({"run": record["run"], "done": {}}).encode())
    bucket.delete_objects(Delete={"Objects": [{"Key": f"out/{name}"} for name in lost]})
    before = bucket.Object(f"out/{kept}").last_modified
    capsys.readouterr()
    assert run([*command, "--out", url(port, "out")]) == 0
    assert json.loads(capsys.readouterr().out)["posts"] == 90
    assert bucket.Object(f"out/{kept}").last_modified == before
    assert {it.key.removeprefix("out/") for it in bucket.objects.filter(Prefix="out/part")} == set(record["done"])


def test_a_bucket_that_is_not_there_is_one_line_without_keys(tmp_path, bucket, port, capsys):
    nowhere = f"s3://key-of-a-test:secret-of-a-test@nowhere/in?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    assert run(["clean", nowhere, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "s3://nowhere/in" in error
    assert "secret-of-a-test" not in error
    assert error.strip().count("\n") == 0
