"""The meme editor in a real Chromium: text is placed, pictures stacked, and what people see is what the PNG shows."""

from __future__ import annotations

import io
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest
from fastapi import APIRouter, Depends
from jinja2 import ChoiceLoader, DictLoader
from PIL import Image
from starlette.requests import Request
from starlette.responses import Response

from browser_tab import PHONE, fits, open_tab
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.store import images, members
from davy.image.perceptual_hash import likeness, pack_likeness
from davy.image.picture import read_picture
from davy.memes.building import keep_meme, picture_folder, start_layout
from davy.memes.meme_layout import MemeLayout
from davy.memes.pages.library import picker_of
from davy.memes.pages.meme_editor import editor_of, layout_in
from davy.memes.store import image_library
from davy.memes.store.image_library import LibraryImage
from davy.people.pages.visitor import Form
from davy.web import render
from davy.web.context import context_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Builds = Annotated[ProjectAccess, Depends(in_project("label posts"))]

MEAN_TOLERANCE = 3.0
"""Grey levels of 255 that the browser's view and the PNG may differ by, over all pixels."""
FAR_TOLERANCE = 0.01
"""The share of pixels that may differ by more than a quarter of the range: edges of letters."""

PAGE = """{% extends "project_base.html" %}{% block project %}
<h1>Build</h1>{% include "parts/meme_editor.html" %}
<form id="pick"></form>{% include "parts/library_picker.html" %}{% endblock %}"""


def shaded(seed: int, size: tuple[int, int] = (480, 320)) -> bytes:
    """Return a picture like a photo: soft shades and some grain."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(40, 220, (4, 6, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
    grain = np.asarray(coarse).astype(int) + rng.integers(-6, 7, (size[1], size[0], 3))
    out = io.BytesIO()
    Image.fromarray(grain.clip(0, 255).astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def add_page(live: Any, start: dict[str, Any]) -> list[MemeLayout]:
    """Add a page with the editor, as a phase has it, and return the list of what is saved."""
    router = APIRouter()
    saved: list[MemeLayout] = []

    def base(store: Any) -> MemeLayout:
        return saved[-1] if saved else start_layout(store, "memes", start["on"], start["text"])

    @router.get("/projects/{project_id}/build")
    def show(request: Request, place: Builds) -> Response:
        context = context_of(request)
        editor = editor_of(
            request,
            place,
            save=f"{place.address}/build",
            layout=base(context.store),
            change=start.get("change", "all"),
            source=start["source"],
            source_text="the source's text",
            images=start["offered"],
        )
        picker = picker_of(request, place, form="pick")
        return project_page(request, place, "built_by_a_test.html", editor=editor, picker=picker)

    @router.post("/projects/{project_id}/build")
    def save(request: Request, place: Builds, form: Form) -> Response:
        store = context_of(request).store
        layout = layout_in(request, place, form, base=base(store), change=start.get("change", "all"))
        built = keep_meme(store, "memes", layout, by=place.account.id)
        saved.append(built.layout)
        start["key"] = built.key
        return render.redirect(request, f"{place.address}/build")

    templates = live.site.app.state.context.templates
    templates.loader = ChoiceLoader([DictLoader({"built_by_a_test.html": PAGE}), templates.loader])
    live.site.app.include_router(router)
    # The page for unknown addresses comes last and takes all.
    routes = live.site.app.router.routes
    routes.insert(0, routes.pop())
    return saved


@pytest.fixture
def start(live: Any) -> dict[str, Any]:
    """A project with an annotator, a source meme and three library pictures."""
    store = live.site.store
    folder = picture_folder(store)
    rows = []
    for seed, words in enumerate(("red dog", "green hill", "blue sea"), 1):
        kept = folder.put(picture := read_picture(shaded(seed)))
        about = {"licence": "CC0-1.0", "credit": f"Painter {seed}"}
        stored = images.StoredImage(kept.key, f"{seed}.png", kept.width, kept.height, kept.size, kept.mime, **about)
        rows.append(LibraryImage(stored, words, pack_likeness(likeness(picture.image))))
    source = folder.put(read_picture(shaded(9)))
    with store.write() as db:
        image_library.add(db, rows, by="shell")
        plan = project_file.parse_plan(b"{name: memes, title: Memes, preset: hateful-memes}", "memes.yaml")
        frame = pl.DataFrame({"id": ["1"], "text": ["a lamp"], "image": [source.key]})
        project_creation.create_project(db, plan, by="shell", posts_in=[frame])
        row = images.StoredImage(source.key, "source.png", source.width, source.height, source.size, source.mime)
        images.add(db, "memes", [row], by="shell")
        members.add(db, "memes", live.site.people["annotator"].id, ["annotator"], by="shell")
        members.consent(db, "memes", live.site.people["annotator"].id)
    keys = [row.key for row in rows]
    return {"on": keys[:1], "offered": keys[1:], "source": source.key, "text": "look how many\npeople love you"}


def drawn(page: Any) -> None:
    """Wait until the server has drawn the newest layout."""
    page.locator('#meme-stage[aria-busy="false"] svg.meme').wait_for()
    page.get_by_role("img", name="The meme as it is now").wait_for()


def view(page: Any) -> np.ndarray:
    """Return what the browser shows of the meme, at the canvas's own size and without frames."""
    size = page.evaluate(
        """async () => {
          const stage = document.getElementById("meme-stage"), svg = stage.querySelector("svg.meme");
          stage.style.cssText = "position: fixed; inset: 0 auto auto 0; z-index: 9; border: 0; max-width: none";
          stage.style.width = svg.getAttribute("width") + "px";
          stage.querySelector(".meme-frames").style.display = "none";
          await document.fonts.ready;
          await Promise.all([...svg.querySelectorAll("image")].map((it) => it.decode()));
          return [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
        }"""
    )
    shot = Image.open(io.BytesIO(page.locator("#meme-stage svg.meme").screenshot())).convert("RGB")
    page.evaluate("""() => {
      document.getElementById("meme-stage").style.cssText = "";
      document.querySelector(".meme-frames").style.display = "";
    }""")
    assert list(shot.size) == size
    return np.asarray(shot).astype(int)


def apart(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the mean difference in grey levels, and the share of pixels that differ by more than 64."""
    difference = np.abs(one - other)
    return float(difference.mean()), float((difference.max(axis=2) > 64).mean())


def test_text_is_placed_pictures_are_stacked_and_the_png_is_what_was_seen(browser, live, start, tmp_path):
    troubles: list[str] = []
    saved = add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator", viewport={"width": 1280, "height": 1400})
    page.goto("/projects/memes/build")
    drawn(page)
    assert page.locator(".meme-source img").get_attribute("src").endswith(start["source"]), "blurred by the server"

    page.get_by_role("button", name="Put below: green hill").click()
    page.get_by_role("button", name="Add text").click()
    page.get_by_label("Words").fill("as many as you can count 🏳️‍🌈 here")
    page.get_by_role(
        "button", name="as many as you can count", exact=True
    ).wait_for()  # 24 characters; the next is whole
    page.get_by_label("Words").fill("many as you can count 🏳️‍🌈 here")
    page.get_by_role("button", name="many as you can count 🏳️‍🌈", exact=True).wait_for()
    page.get_by_label("Words").fill("so many 😂🏳️‍🌈 Grüße")
    page.get_by_label("Colour").fill("#ffcc00")
    drawn(page)
    frame = page.locator(".meme-frame").nth(2)
    place = frame.bounding_box()
    page.mouse.move(place["x"] + 20, place["y"] + 10)
    page.mouse.down()
    page.mouse.move(place["x"] + 50, place["y"] + 70, steps=4)
    page.mouse.up()
    drawn(page)
    frame.focus()
    before = page.get_by_label("From the left").input_value()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Alt+ArrowDown")
    drawn(page)
    assert float(page.get_by_label("From the left").input_value()) == pytest.approx(float(before) + 9, abs=0.11)

    seen = view(page)
    page.get_by_role("button", name="Save the meme").click()
    drawn(page)
    png = np.asarray(picture_folder(live.site.store).read(start["key"]).image.convert("RGB")).astype(int)
    assert png.shape == (800, 600, 3), "two pictures of 480 × 320, each 600 wide"
    mean, far = apart(seen, png)
    assert mean <= MEAN_TOLERANCE, (mean, far)
    assert far <= FAR_TOLERANCE, (mean, far)
    yellow = (png[..., 0] > 240) & (png[..., 1] > 190) & (png[..., 1] < 215) & (png[..., 2] < 110)
    assert yellow.sum() > 500, "the emoji and the text are in colour"
    assert saved[0].text == "look how many\nso many 😂🏳️‍🌈 Grüße\npeople love you"
    assert [placed.image for placed in saved[0].images] == [start["on"][0], start["offered"][0]]
    with live.site.store.read() as db:
        kept = images.find(db, "memes", start["key"])
    assert kept.licence == "CC0-1.0"
    assert kept.credit.startswith("Painter 1; Painter 2; Twemoji")

    # Opened again, it is the same meme.
    assert apart(view(page), seen) == (0.0, 0.0)
    assert troubles == []


def test_every_step_can_be_undone_and_done_again(browser, live, start):
    troubles: list[str] = []
    add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator")
    page.goto("/projects/memes/build")
    drawn(page)
    first = page.locator("[name=layout]").input_value()
    page.get_by_label("Words").fill("one two")
    page.get_by_label("Lines").select_option("left")
    page.get_by_role("button", name="Remove this text").click()
    page.get_by_role("button", name="Put below: blue sea").click()
    last = page.locator("[name=layout]").input_value()
    assert last != first
    for _ in range(4):
        page.get_by_role("button", name="Undo").click()
    assert page.get_by_role("button", name="Undo").is_disabled()
    assert page.locator("[name=layout]").input_value() == first
    for _ in range(4):
        page.get_by_role("button", name="Redo").click()
    assert page.locator("[name=layout]").input_value() == last
    assert troubles == []


CHANGE_BEFORE_THE_ANSWER = """
const real = window.fetch;
let first = true;
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  await answer.clone().text();
  if (first) document.querySelector("#meme-pictures li:nth-child(2) button").click();
  first = false;
  return answer;
};
"""
"""A picture is put below the first in the moment in which the first drawing arrives."""


def test_a_picture_that_is_put_while_the_server_draws_is_drawn_too(browser, live, start):
    troubles: list[str] = []
    add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator")
    page.add_init_script(CHANGE_BEFORE_THE_ANSWER)
    page.goto("/projects/memes/build")
    drawn(page)
    assert page.locator("#meme-stage svg.meme image").count() == 2
    assert troubles == []


def test_a_locked_text_can_not_be_changed_and_a_locked_picture_can_not_be_replaced(browser, live, start):
    troubles: list[str] = []
    start["change"] = "text"
    saved = add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator")
    page.goto("/projects/memes/build")
    drawn(page)
    assert not page.locator("#meme-pictures").count()
    start["change"] = "image"
    page.reload()
    drawn(page)
    assert page.get_by_label("Words").get_attribute("readonly") is not None
    assert not page.get_by_role("button", name="Add text").count()
    page.get_by_role("button", name="Put below: green hill").click()
    page.get_by_role("button", name="Save the meme").click()
    drawn(page)
    assert [len(layout.images) for layout in saved] == [2]
    assert saved[0].text == "look how many\npeople love you"
    assert troubles == []


def test_a_text_that_does_not_fit_is_said_and_the_meme_stays(browser, live, start):
    troubles: list[str] = []
    add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator")
    page.goto("/projects/memes/build")
    drawn(page)
    page.get_by_label("Words").fill("\n".join(f"line {n}" for n in range(200)))
    page.get_by_text("does not fit its box").wait_for()
    page.get_by_label("Words").fill("short")
    page.locator("#meme-fault").wait_for(state="hidden")
    assert [it for it in troubles if "422" not in it] == []


def test_without_scripts_there_is_a_form_with_two_captions(browser, live, start):
    troubles: list[str] = []
    saved = add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator", java_script_enabled=False)
    page.goto("/projects/memes/build")
    page.get_by_label("Text at the top").fill("only words")
    page.get_by_label("Text at the bottom").fill("")
    page.get_by_role("button", name="Save the meme").click()
    page.get_by_label("Text at the top").wait_for()
    assert [layout.text for layout in saved] == ["only words"]


def test_the_library_is_searched_by_words_and_by_likeness_and_shows_licences(browser, live, start):
    troubles: list[str] = []
    add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator")
    page.goto("/projects/memes/build")
    assert page.locator(".shelf li").count() == 3
    page.get_by_label("What the picture shows").fill("gre")
    page.get_by_text("1 of 3 pictures").wait_for()
    assert "CC0-1.0 · Painter 2" in page.locator(".shelf li").inner_text()
    assert page.locator(".shelf input").get_attribute("form") == "pick"
    page.get_by_role("link", name="More like this").click()
    page.get_by_text("Those that look most alike come first").wait_for()
    assert page.locator(".shelf li").count() == 3
    assert page.locator(".shelf li").first.inner_text().startswith("green hill")
    page.goto("/projects/memes/library?words=sea")
    assert page.locator(".shelf li").count() == 1
    assert troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_editor_fits_a_phone(browser, live, start, scheme, tmp_path):
    troubles: list[str] = []
    add_page(live, start)
    page = open_tab(browser, live, troubles, "annotator", viewport=PHONE, color_scheme=scheme, locale="de")
    page.goto("/projects/memes/build")
    drawn(page)
    assert fits(page)
    page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
    assert troubles == []
