"""Human accuracy: batches labelled anew by others, against what was settled."""

from __future__ import annotations

import pytest

from davy.annotation.labelling import labelling
from davy.annotation.project.store import members, phases
from davy.core import UserError
from davy.memes import rating_quality
from davy.store.columns import new_id
from meme_project import HARMLESS, HATEFUL, make_memes


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))


def test_batches_go_to_people_who_never_saw_the_memes_and_give_accuracy_and_its_range(store):
    bench = make_memes(store, n=4, people=("ada", "bo", "cy", "di", "ed"))
    truth = {}
    for number in range(4):
        bench.filter("ada")
        meme = bench.build("ada", f"lamp {number}")
        truth[meme.id] = HATEFUL if number < 2 else HARMLESS
        bench.rate(meme, ("bo", "cy"), truth[meme.id])
    with store.write() as db:
        fresh = rating_quality.fresh_people(db, bench.project)
        assert {it.user for it in fresh} == {bench.people["di"].user, bench.people["ed"].user}
        with pytest.raises(UserError, match="have not worked on these"):
            rating_quality.draw_batches(db, bench.project, [bench.people["bo"]], batches=1, each=1, by="shell")
        with pytest.raises(UserError, match="4 memes are settled"):
            rating_quality.draw_batches(db, bench.project, fresh, batches=5, each=1, by="shell")
        phase = rating_quality.draw_batches(db, bench.project, fresh, batches=2, each=2, by="shell", seed=1)
        assert (phase.size, phase.in_corpus) == (4, False)
        phases.open_phase(db, phase.id, by="shell")
        assert rating_quality.human_accuracy(db, bench.project).overall.value is None
        mine = members.of_project(db, "memes")
        assert labelling.next_sheet(db, bench.project, bench.people["bo"], phase_id=phase.id) is None
        assert len(mine) == 5
    slips = {"di": [], "ed": [0]}
    for name in ("di", "ed"):
        for number in range(2):
            with store.write() as db:
                sheet = labelling.next_sheet(db, bench.project, bench.people[name], phase_id=phase.id)
                given = {"rating": ("not sure",)} if number in slips[name] else truth[sheet.post.id]
                labelling.save(db, sheet, given, annotation_id=new_id(), seconds=3)
        with store.write() as db:
            assert labelling.next_sheet(db, bench.project, bench.people[name], phase_id=phase.id) is None
    with store.read() as db:
        found = rating_quality.human_accuracy(db, bench.project)
    by_person = {it.person: it.accuracy for it in found.batches}
    assert by_person == {bench.people["di"].pseudonym: 1.0, bench.people["ed"].pseudonym: 0.5}
    assert (found.overall.value, found.overall.n, found.spread) == (0.75, 4, (0.5, 1.0))
