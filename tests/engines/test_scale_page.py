"""The code blocks of docs/serve/scale.md: shards on a disk, then two Ray nodes over an object store that moto plays."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import polars as pl
import pytest
from ray_nodes import free_port, two_nodes

from davy.detectors import embedded
from page_blocks import block

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("embedded-en" not in embedded.shipped_names(), reason="no embedded detectors"),
]

ROWS, SHARDS = 40, 2


@pytest.fixture
def object_store(monkeypatch):
    """An S3 server with the page's bucket, where AWS's own variables point: the commands stay as they are."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key-of-a-test",
        "AWS_SECRET_ACCESS_KEY": "secret-of-a-test",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        bucket = boto3.resource("s3", endpoint_url=url, region_name="us-east-1").Bucket("archive")
        bucket.create()
        yield bucket
    finally:
        server.terminate()
        server.wait(20)


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the object store did not start")


def done(arguments: list[str], **surroundings: str) -> None:
    """Run a command of the page as people do."""
    env = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONWARNINGS": "ignore", **surroundings}
    command = [sys.executable, "-m", "davy", *arguments]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


def shards_in(bucket, folder: str, to: Path) -> pl.DataFrame:
    """Return the shards of a folder of the bucket as one table."""
    to.mkdir()
    for found in bucket.objects.filter(Prefix=f"{folder}/part"):
        bucket.download_file(found.key, str(to / found.key.rpartition("/")[2]))
    return pl.concat([pl.read_parquet(path) for path in sorted(to.glob("*.parquet"))])


def test_the_page_on_shards_and_clusters(tmp_path, monkeypatch, object_store):
    if os.environ.get("CI") != "true":
        pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    Path("shards").mkdir()
    texts = [f"The train to platform {i % 30} was late on day {i}" for i in range(ROWS * SHARDS)]
    texts[-1] = texts[0]
    frame = pl.DataFrame({"id": [f"p{i}" for i in range(len(texts))], "text": texts})
    for number in range(SHARDS):
        path = Path("shards") / f"part-{number}.parquet"
        frame[number * ROWS : (number + 1) * ROWS].write_parquet(path)
        object_store.upload_file(str(path), f"posts/{path.name}")

    here, clean = block("scale.md", "davy score shards/").commands()
    done(here)
    scored = pl.concat([pl.read_parquet(path) for path in sorted(Path("scored").glob("*.parquet"))])
    assert scored["id"].to_list() == frame["id"].to_list()

    cluster = block("scale.md", "ray start")
    starts, [score] = cluster.commands("ray"), cluster.commands()
    with two_nodes(starts) as (address, _):
        assert score[-1] == "10.0.0.1:6379"
        done([*score[:-1], address])
        assert clean[-2:] == ["--address", "auto"]
        done(clean, RAY_ADDRESS=address)
    on_cluster = shards_in(object_store, "scored", tmp_path / "from-cluster")
    assert on_cluster["id"].to_list() == frame["id"].to_list()
    assert on_cluster["hate"].to_list() == scored["hate"].to_list()
    assert len(shards_in(object_store, "clean", tmp_path / "clean")) == len(frame) - 1
