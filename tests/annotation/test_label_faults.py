"""The labelling page when the machine lets it down: a clear page, nothing half-kept, and the same form works later."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import event

from davy.annotation.labelling.store import annotations, tallies
from labelling import make_lamps, send

POLITE = {"rude": ("not rude",)}


def test_a_full_disk_is_a_clear_page_and_the_same_form_is_saved_once_there_is_room(site):
    lamps = make_lamps(site, [f"post number {n} shines" for n in range(1, 40)])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    store = site.store
    pages = Path(store.url.database).stat().st_size // 4096 + 8
    limit = [pages]
    store.close()  # so that new connections meet the limit, which stands in for a disk with no room left
    event.listen(store.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {limit[0]}"))
    saved = 0
    for _ in range(39):
        answer = send(client, html, POLITE, comment="grumble " * 200)
        if answer.status_code != 200:
            break
        saved, html = saved + 1, answer.text
    assert answer.status_code == 507
    assert "disk is full" in answer.text
    assert "Traceback" not in answer.text
    user = lamps.user("annotator")
    with store.read() as db:
        assert len(annotations.of_annotator(db, user)) == saved == tallies.get(db, lamps.phase.id, user).given
    limit[0] = 1_000_000
    store.close()
    assert send(client, html, POLITE).status_code == 200
    with store.read() as db:
        assert tallies.get(db, lamps.phase.id, user).given == saved + 1
