"""A model swapped while the server runs: the new version takes over, garbage does not, and nobody waits for either."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from test_serve_detectors import save_model

from davy import schemes
from davy.detectors import embedded
from davy.detectors.baselines import Majority
from davy.detectors.registered import register_detector
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.store.store import DatabaseUnavailable


def swapped(store, change) -> tuple[str, str, dict[str, str]]:
    """Return who answered before and after a change to the registry or its files, and what was refused."""
    question = schemes.load("hate").question("hate")

    async def use():
        registry = Detectors(store, Detector(Majority((question,))))
        await registry.start()
        before, _ = await registry.score([PostToScore("x")])
        change()
        await registry.refresh()
        after, _ = await registry.score([PostToScore("x")])
        found = before.full_name, after.full_name, dict(registry.refused)
        await registry.stop()
        return found

    return asyncio.run(use())


def test_what_fails_in_the_store_is_known_until_it_is_well_again(store, monkeypatch, caplog):
    question = schemes.load("hate").question("hate")
    kind = type(store)

    def failing(status):
        def fail(_store):
            raise DatabaseUnavailable("postgresql://davy@db.internal can't be used.", status=status)

        return fail

    async def until(registry, trouble):
        async with asyncio.timeout(30):
            while registry.trouble != trouble:
                await asyncio.sleep(0.01)

    async def use():
        registry = Detectors(store, Detector(Majority((question,))), poll_seconds=0.02)
        await registry.start()
        for name, status, trouble in (("read", 503, "database"), ("check_writable", 507, "disk")):
            with monkeypatch.context() as broken:
                broken.setattr(kind, name, failing(status))
                await until(registry, trouble)
                await registry.score([PostToScore("x")])
                await asyncio.sleep(0.1)
            await until(registry, None)
        await registry.stop()

    asyncio.run(use())
    told = [it.message for it in caplog.records if it.name == "davy.serve"]
    assert [it.split(":")[0] for it in told] == ["degraded", "well again"] * 2, "once, not every two seconds"


def test_a_new_version_takes_over(store, tmp_path):
    old = register_detector(store, str(save_model(tmp_path / "1", name="m")), by="shell", default=True)

    def change():
        register_detector(store, str(save_model(tmp_path / "2", name="m", answer="hateful")), by="shell", default=True)

    before, after, refused = swapped(store, change)
    assert before == old.full_name
    assert after.startswith("m@")
    assert after != before
    assert refused == {}


@pytest.mark.skipif("embedded-de" not in embedded.shipped_names(), reason="no embedded detector")
def test_a_network_replaced_by_garbage_does_not_take_over_and_the_old_version_stays(store, tmp_path):
    old = register_detector(store, str(save_model(tmp_path / "1", name="m")), by="shell", default=True)
    new: list[str] = []

    def change():
        folder = tmp_path / "2"
        shutil.copytree(embedded.weights_folder("embedded-de"), folder)
        new.append(register_detector(store, str(folder), name="m", by="shell", default=True).id)
        (folder / "model.onnx").write_bytes(b"\x00garbage\xff" * 100)

    before, after, refused = swapped(store, change)
    assert (before, after) == (old.full_name, old.full_name)
    assert list(refused) == new
    assert "model.onnx" in refused[new[0]]


def test_a_manifest_that_is_garbage_does_not_take_over_either(store, tmp_path):
    old = register_detector(store, str(save_model(tmp_path / "1", name="m")), by="shell", default=True)

    def change():
        folder = save_model(tmp_path / "2", name="m", answer="hateful")
        register_detector(store, str(folder), by="shell", default=True)
        (folder / "manifest.json").write_bytes(b"\xff\x00{")

    assert swapped(store, change)[:2] == (old.full_name, old.full_name)


def test_a_first_default_that_is_garbage_leaves_the_answer_to_what_the_server_was_started_with(store, tmp_path):
    def change():
        folder = save_model(tmp_path / "1", name="m")
        register_detector(store, str(folder), by="shell", default=True)
        (folder / "manifest.json").write_text("{")

    before, after, refused = swapped(store, change)
    assert before == after
    assert before.startswith("majority")
    assert len(refused) == 1
