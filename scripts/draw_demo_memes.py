"""Draw the demo's memes: harmless pictures (a lamp, a cat, rain, a river, spoons, a morning) with two lines of text.

The texts come from the demo's posts; PNG files go to `src/davy/demo/data/images/`. The same pictures without text, and
some more, go to `src/davy/demo/data/library/`, from which the demo's visitors build memes.
Run it again after changing a text: python scripts/draw_demo_memes.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

DEMO = Path(__file__).parents[1] / "src/davy/demo/data"
WIDTH, HEIGHT = 640, 480
FONTS = ("DejaVuSans-Bold.ttf", "LiberationSans-Bold.ttf", "Arial Bold.ttf")
Pen = ImageDraw.ImageDraw


def lamp(pen: Pen) -> None:
    """A safety lamp in a dark gallery."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#2b2a28")
    for radius, shade in ((210, "#3a352b"), (150, "#54472c"), (100, "#7a602f")):
        pen.ellipse((320 - radius, 250 - radius, 320 + radius, 250 + radius), fill=shade)
    pen.arc((285, 105, 355, 175), 180, 360, fill="#9a9a94", width=7)
    pen.polygon(((275, 150), (365, 150), (378, 185), (262, 185)), fill="#8a8a84")
    pen.rectangle((275, 185, 365, 310), fill="#fdf1d8", outline="#8a8a84", width=6)
    pen.polygon(((320, 205), (345, 255), (335, 290), (305, 290), (295, 255)), fill="#f0ac2b")
    pen.rectangle((258, 310, 382, 345), fill="#8a8a84")


def cat(pen: Pen) -> None:
    """A cat that looks at an empty plate."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#cfd8d2")
    pen.rectangle((0, 350, WIDTH, HEIGHT), fill="#a98d6c")
    pen.ellipse((235, 210, 405, 400), fill="#5a5a55")
    pen.ellipse((255, 130, 385, 250), fill="#5a5a55")
    pen.polygon(((262, 160), (268, 95), (312, 138)), fill="#5a5a55")
    pen.polygon(((378, 160), (372, 95), (328, 138)), fill="#5a5a55")
    for x in (292, 348):
        pen.ellipse((x - 14, 170, x + 14, 200), fill="#f0ac2b")
        pen.ellipse((x - 4, 172, x + 4, 198), fill="#1c1c1a")
    pen.polygon(((312, 210), (328, 210), (320, 220)), fill="#e8a0a0")
    pen.arc((380, 300, 480, 400), 250, 90, fill="#5a5a55", width=16)
    pen.ellipse((420, 375, 560, 405), fill="#f7f7f6", outline="#b0b0a9", width=4)


def rain(pen: Pen) -> None:
    """A beach chair under a cloud."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#8fa3b0")
    pen.rectangle((0, 340, WIDTH, HEIGHT), fill="#d8c59a")
    for x, y, size in ((190, 120, 70), (270, 95, 90), (370, 100, 85), (450, 125, 65)):
        pen.ellipse((x - size, y - size // 2, x + size, y + size // 2 + 20), fill="#5f6d77")
    for i in range(48):
        x, y = 90 + (i * 53) % 470, 180 + (i * 37) % 190
        pen.line((x, y, x - 8, y + 26), fill="#dfe9ef", width=3)
    pen.polygon(((230, 390), (400, 390), (440, 290), (425, 285), (390, 365), (230, 365)), fill="#b5542e")
    pen.line((250, 390, 240, 425), fill="#6b4a2f", width=7)
    pen.line((390, 390, 405, 425), fill="#6b4a2f", width=7)


def river(pen: Pen) -> None:
    """A river between two banks, with a boat at a door."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#dbe6d3")
    pen.polygon(((0, 260), (WIDTH, 200), (WIDTH, 330), (0, 400)), fill="#6f9db8")
    pen.rectangle((430, 120, 540, 260), fill="#b08a5a", outline="#6b4a2f", width=5)
    pen.polygon(((415, 120), (555, 120), (485, 65)), fill="#8c3b2e")
    pen.rectangle((465, 180, 505, 260), fill="#6b4a2f")
    pen.polygon(((150, 300), (300, 285), (280, 325), (175, 335)), fill="#7a5230")
    pen.ellipse((200, 235, 235, 270), fill="#e3b98e")
    pen.rectangle((203, 265, 232, 298), fill="#3d5a80")


def spoons(pen: Pen) -> None:
    """A laid table."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#e9dfcf")
    pen.rectangle((60, 180, 580, 400), fill="#fbfaf7", outline="#c9bda8", width=4)
    for x in (150, 320, 490):
        pen.ellipse((x - 65, 225, x + 65, 355), fill="#f2f2ef", outline="#b0b0a9", width=4)
        pen.ellipse((x + 70, 240, x + 92, 280), fill="#9aa2a8")
        pen.rectangle((x + 78, 275, x + 84, 345), fill="#9aa2a8")


def monday(pen: Pen) -> None:
    """A bedside lamp, a clock and the moon."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#263247")
    pen.ellipse((90, 100, 160, 170), fill="#f3ecd2")
    pen.ellipse((112, 92, 178, 158), fill="#263247")
    pen.rectangle((60, 360, 580, 385), fill="#6b4a2f")
    pen.polygon(((400, 180), (490, 180), (525, 270), (365, 270)), fill="#f0ac2b")
    pen.rectangle((438, 270, 452, 360), fill="#8a8a84")
    pen.ellipse((180, 235, 305, 360), fill="#f7f7f6", outline="#a8201a", width=9)
    pen.line((242, 298, 242, 255), fill="#1c1c1a", width=6)
    pen.line((242, 298, 242, 335), fill="#1c1c1a", width=6)


def flowers(pen: Pen) -> None:
    """A vase of flowers on a sill."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#e4ecf0")
    pen.rectangle((0, 390, WIDTH, HEIGHT), fill="#b98d5f")
    for x, top, shade in ((230, 130, "#b5542e"), (300, 90, "#f0ac2b"), (370, 120, "#8a4fa3"), (420, 180, "#b5542e")):
        pen.line((x, top, 320, 330), fill="#3b8f4d", width=7)
        for dx, dy in ((-24, 0), (24, 0), (0, -24), (0, 24)):
            pen.ellipse((x + dx - 22, top + dy - 22, x + dx + 22, top + dy + 22), fill=shade)
        pen.ellipse((x - 16, top - 16, x + 16, top + 16), fill="#fdf1d8")
    pen.polygon(((265, 290), (375, 290), (400, 430), (240, 430)), fill="#5d7f95")


def desert(pen: Pen) -> None:
    """An empty plain with a tumbleweed."""
    pen.rectangle((0, 0, WIDTH, 260), fill="#f3d9a4")
    pen.rectangle((0, 260, WIDTH, HEIGHT), fill="#d3a566")
    pen.ellipse((470, 60, 560, 150), fill="#f0ac2b")
    pen.polygon(((0, 260), (120, 190), (260, 260)), fill="#b98352")
    for i in range(14):
        box = (240 + (i * 7) % 40, 290 + (i * 11) % 40, 370 - (i * 5) % 40, 420 - (i * 13) % 40)
        pen.arc(box, i * 25, i * 25 + 230, fill="#7a5230", width=4)


def friends(pen: Pen) -> None:
    """Five people side by side."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#cfe0cf")
    pen.rectangle((0, 400, WIDTH, HEIGHT), fill="#7f9f6f")
    coats = ("#3d5a80", "#b5542e", "#8a4fa3", "#3b8f4d", "#c2a02b")
    for place, (coat, skin) in enumerate(
        zip(coats, ("#e3b98e", "#8d5b3a", "#f0d0b0", "#5f3d28", "#c89468"), strict=True)
    ):
        x = 100 + place * 110
        pen.ellipse((x - 34, 170, x + 34, 238), fill=skin)
        pen.rectangle((x - 42, 240, x + 42, 410), fill=coat)
        pen.arc((x - 16, 195, x + 16, 222), 20, 160, fill="#1c1c1a", width=4)


def bread(pen: Pen) -> None:
    """Loaves on a board."""
    pen.rectangle((0, 0, WIDTH, HEIGHT), fill="#efe3d0")
    pen.rectangle((60, 330, 580, 380), fill="#8c6239")
    for x in (170, 320, 470):
        pen.ellipse((x - 75, 220, x + 75, 345), fill="#c9853f")
        for dx in (-30, 0, 30):
            pen.line((x + dx - 10, 245, x + dx + 14, 300), fill="#f3d9a4", width=8)


LIBRARY: dict[str, tuple[Callable[[Pen], None], str]] = {
    "lamp.png": (lamp, "safety lamp flame dark gallery mine Lampe Grube"),
    "cat.png": (cat, "cat plate kitchen Katze Teller"),
    "rain.png": (rain, "rain cloud beach chair Regen Strand Stuhl"),
    "river.png": (river, "river boat house rower Fluss Boot Haus"),
    "spoons.png": (spoons, "spoons plates laid table Löffel Tisch"),
    "monday.png": (monday, "night moon clock bedside lamp Nacht Uhr"),
    "flowers.png": (flowers, "flowers vase window Blumen Vase"),
    "desert.png": (desert, "desert tumbleweed empty plain Wüste leer"),
    "friends.png": (friends, "people friends crowd five Menschen Freunde"),
    "bread.png": (bread, "bread loaves bakery Brot Bäckerei"),
}
"""Pictures without text: how each is drawn, and the words that find it."""

DRAWN: dict[str, Callable[[Pen], None]] = {
    "lamp.png": lamp,
    "cat.png": cat,
    "rain.png": rain,
    "river.png": river,
    "spoons.png": spoons,
    "monday.png": monday,
}


def font(size: int) -> ImageFont.FreeTypeFont:
    """Return a bold font of the machine."""
    for name in FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    raise SystemExit(f"None of these fonts is installed: {', '.join(FONTS)}")


def write_line(pen: Pen, text: str, y: int) -> None:
    """Write one centred line, white with a dark edge, as small as it must be."""
    size = 40
    while pen.textlength(text, font(size)) > WIDTH - 40:
        size -= 2
    pen.text((WIDTH / 2, y), text, "#ffffff", font(size), anchor="mm", stroke_width=4, stroke_fill="#1c1c1a")


def main() -> None:
    """Draw every meme that a demo post names."""
    folder = DEMO / "images"
    folder.mkdir(exist_ok=True)
    for line in (DEMO / "posts.jsonl").read_text(encoding="utf-8").splitlines():
        post = json.loads(line)
        if "image" not in post:
            continue
        picture = Image.new("RGB", (WIDTH, HEIGHT))
        pen = ImageDraw.Draw(picture)
        DRAWN[post["image"]](pen)
        top, bottom = post["text"].split(" / ")
        write_line(pen, top, 45)
        write_line(pen, bottom, HEIGHT - 40)
        picture.quantize(64).save(folder / post["image"], optimize=True)
    shelf = DEMO / "library"
    shelf.mkdir(exist_ok=True)
    for name, (draw, _) in LIBRARY.items():
        picture = Image.new("RGB", (WIDTH, HEIGHT))
        draw(ImageDraw.Draw(picture))
        picture.quantize(32).save(shelf / name, optimize=True)
    rows = "".join(f"{name},{words}\n" for name, (_, words) in LIBRARY.items())
    (shelf / "library.csv").write_text(f"image,words\n{rows}", encoding="utf-8")


if __name__ == "__main__":
    main()
