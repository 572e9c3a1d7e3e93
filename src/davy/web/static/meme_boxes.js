/* Frames over a meme's texts: moved and resized by pointer or by keys. Knows nothing of fonts or of the server.
   Arrows move a frame, with Alt they resize it, with Shift in steps of one pixel; Delete removes it. */

const NS = "http://www.w3.org/2000/svg";
const SMALLEST = 8;
const make = (name, values, parent) => {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Boxes {
  constructor(stage, name, acts) {
    this.stage = stage;
    this.name = name;
    this.acts = acts;
    this.layer = make("svg", { class: "meme-frames" }, stage);
    this.layer.addEventListener("pointerdown", (event) => this.grab(event));
    this.layer.addEventListener("keydown", (event) => this.press(event));
    this.layer.addEventListener("focusin", (event) => {
      const i = Number(event.target.closest("[data-box]")?.dataset.box ?? -1);
      if (i >= 0 && i !== this.chosen) this.acts.choose(i);
    });
  }

  show(layout, chosen) {
    this.layout = layout;
    this.chosen = chosen;
    this.layer.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    const held = this.layer.contains(document.activeElement);
    // The chosen frame comes last, so that it lies above the others.
    while (this.layer.children.length > layout.texts.length) this.layer.lastChild.remove();
    while (this.layer.children.length < layout.texts.length) this.frame();
    [...this.layer.children].forEach((group, i) => {
      const box = layout.texts[i];
      group.dataset.box = i;
      group.setAttribute("aria-label", `${this.name} ${i + 1}: ${box.text}`);
      group.classList.toggle("chosen", i === chosen);
      this.place(group, box);
    });
    if (held && chosen >= 0) this.layer.children[chosen].focus({ preventScroll: true });
  }

  frame() {
    const group = make("g", { tabindex: 0, role: "group", class: "meme-frame" }, this.layer);
    make("rect", { class: "area" }, group);
    make("rect", { class: "handle" }, group);
  }

  place(group, box) {
    const [area, handle] = group.children;
    for (const name of ["x", "y", "width", "height"]) area.setAttribute(name, box[name]);
    const side = Math.max(10, this.layout.width / 40);
    const values = { x: box.x + box.width - side / 2, y: box.y + box.height - side / 2, width: side, height: side };
    for (const [name, value] of Object.entries(values)) handle.setAttribute(name, value);
  }

  point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.layer.getScreenCTM().inverse());
  }

  grab(event) {
    const group = event.target.closest("[data-box]");
    if (!group || event.button) return;
    event.preventDefault();
    const i = Number(group.dataset.box);
    const start = this.point(event);
    const before = { ...this.layout.texts[i] };
    const resizing = event.target.classList.contains("handle");
    let after = before;
    const text = this.stage.querySelector(`svg.meme [data-text="${i}"]`);
    this.acts.choose(i);
    group.focus({ preventScroll: true });
    this.layer.setPointerCapture(event.pointerId);
    const move = (moved) => {
      const now = this.point(moved);
      const [dx, dy] = [now.x - start.x, now.y - start.y];
      after = resizing
        ? { ...before, width: Math.max(SMALLEST, before.width + dx), height: Math.max(SMALLEST, before.height + dy) }
        : { ...before, x: before.x + dx, y: before.y + dy };
      this.place(group, after);
      if (!resizing) text?.setAttribute("transform", `translate(${dx} ${dy})`);
    };
    const end = () => {
      this.layer.removeEventListener("pointermove", move);
      this.layer.removeEventListener("pointerup", end);
      this.layer.removeEventListener("pointercancel", end);
      if (after !== before) this.change(i, after, "");
    };
    this.layer.addEventListener("pointermove", move);
    this.layer.addEventListener("pointerup", end);
    this.layer.addEventListener("pointercancel", end);
  }

  press(event) {
    const group = event.target.closest("[data-box]");
    if (!group) return;
    const i = Number(group.dataset.box);
    if (event.key === "Delete") { event.preventDefault(); this.acts.remove(); return; }
    const way = KEYS[event.key];
    if (!way || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [dx, dy] = way.map((one) => one * (event.shiftKey ? 1 : 10));
    const box = this.layout.texts[i];
    const after = event.altKey
      ? { ...box, width: Math.max(SMALLEST, box.width + dx), height: Math.max(SMALLEST, box.height + dy) }
      : { ...box, x: box.x + dx, y: box.y + dy };
    this.change(i, after, `keys ${i}`);
  }

  change(i, { x, y, width, height }, kind) {
    const round = (value) => Math.round(value * 10) / 10;
    this.acts.place(i, { x: round(x), y: round(y), width: round(width), height: round(height) }, kind);
  }
}
