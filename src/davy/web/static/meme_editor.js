/* The meme editor: a layout that people change, drawn by the server's one renderer after every change.
   What is shown is its SVG, so that lines break here as they do in the PNG. Moving is in meme_boxes.js. */

import { Boxes } from "./meme_boxes.js";

const form = document.getElementById("meme-editor");
const $ = (selector) => form.querySelector(selector);
const stage = $("#meme-stage");
const fault = $("#meme-fault");
const style = $("#meme-style");
const pictures = JSON.parse(form.dataset.pictures);
const change = form.dataset.change;
const WAIT = 120; // milliseconds without a change before the server draws

let layout = JSON.parse(form.dataset.layout);
let past = [];
let future = [];
let chosen = layout.texts.length ? 0 : -1;
let drawnPictures = "";
let timer = 0;
let asked = 0;

/* ---- history: every step is a whole layout ------------------------------------------------------ */

const copy = (value) => JSON.parse(JSON.stringify(value));

// A run of the same kind of change (typing in one box) is one step.
let run = "";
function step(kind, edit) {
  if (!kind || kind !== run) past.push(copy(layout));
  if (past.length > 200) past.shift();
  run = kind;
  future = [];
  edit();
  show();
}

function travel(from, to) {
  if (!from.length) return;
  to.push(copy(layout));
  layout = from.pop();
  run = "";
  chosen = Math.min(chosen, layout.texts.length - 1);
  if (chosen < 0 && layout.texts.length) chosen = 0;
  show();
}

/* ---- drawing ------------------------------------------------------------------------------------- */

async function draw() {
  const turn = ++asked;
  const sent = form.elements.layout.value;
  const body = new URLSearchParams({ csrf: form.elements.csrf.value, layout: sent });
  let answer;
  try {
    answer = await fetch(form.dataset.draw, { method: "POST", body });
  } catch {
    stage.ariaBusy = "false";
    return complain(form.dataset.offline);
  }
  const text = await answer.text();
  if (turn !== asked) return; // a newer layout is on its way
  stage.ariaBusy = String(sent !== form.elements.layout.value); // a change since then is drawn in a moment
  if (!answer.ok) return complain(answer.headers.get("Content-Type")?.startsWith("text/plain") ? text : form.dataset.offline);
  fault.hidden = true;
  put(document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true), JSON.parse(sent));
}

function complain(text) {
  fault.textContent = text;
  fault.hidden = false;
}

// Pictures that stay are not loaded again: only the text changes hands.
function put(svg, { images, width, height }) {
  const now = JSON.stringify([images, width, height]);
  const old = stage.querySelector("svg.meme");
  svg.classList.add("meme");
  svg.setAttribute("role", "img");
  stage.querySelector(".meme-space")?.remove(); // it kept the place until now
  if (!old) stage.prepend(svg);
  else if (now !== drawnPictures) old.replaceWith(svg);
  else {
    for (const group of old.querySelectorAll("[data-text]")) group.remove();
    old.append(...svg.querySelectorAll("[data-text]"));
  }
  drawnPictures = now;
  // What its texts say stands in their own fields; a reader of the screen hears the drawing's name with them.
  const words = layout.texts.map((box) => box.text.trim()).filter(Boolean).join(" · ");
  stage.querySelector("svg.meme").setAttribute("aria-label", [form.dataset.drawingName, words].filter(Boolean).join(": "));
}

function show() {
  form.elements.layout.value = JSON.stringify(layout);
  boxes.show(layout, chosen);
  list();
  fill();
  arrange();
  $("[data-act=undo]").disabled = !past.length;
  $("[data-act=redo]").disabled = !future.length;
  stage.ariaBusy = "true";
  clearTimeout(timer);
  timer = setTimeout(draw, WAIT);
}

/* ---- the panel ------------------------------------------------------------------------------------ */

// Cut between characters as people see them: an emoji of several code points stays whole.
function beginning(text) {
  const characters = [...new Intl.Segmenter().segment(text.trim())].map((it) => it.segment);
  return characters.slice(0, 24).join("");
}

function list() {
  $("#meme-boxes").replaceChildren(...layout.texts.map((box, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain small";
    button.textContent = beginning(box.text) || `${form.dataset.textName} ${i + 1}`;
    button.setAttribute("aria-pressed", String(i === chosen));
    button.addEventListener("click", () => choose(i));
    return button;
  }));
}

function choose(i) {
  chosen = i;
  run = "";
  boxes.show(layout, chosen);
  list();
  fill();
}

function fill() {
  const box = layout.texts[chosen];
  style.hidden = !box;
  if (!box) return;
  for (const input of style.querySelectorAll("[data-value]")) {
    if (input === document.activeElement) continue;
    const value = box[input.dataset.value];
    if (input.type === "checkbox") input.checked = value;
    else input.value = typeof value === "number" ? Math.round(value * 10) / 10 : value;
  }
}

style.addEventListener("input", (event) => {
  const name = event.target.dataset.value;
  const value = event.target.type === "checkbox" ? event.target.checked : event.target.type === "number" ? event.target.valueAsNumber : event.target.value;
  if (!name || !layout.texts[chosen] || Number.isNaN(value) || !event.target.checkValidity()) return;
  step(`${name} ${chosen}`, () => { layout.texts[chosen][name] = value; });
});
style.addEventListener("focusout", () => { run = ""; fill(); });

/* ---- pictures: stacked, each as wide as the canvas ------------------------------------------------- */

const on = () => layout.images.map((it) => pictures.find((known) => known.key === it.image)).filter(Boolean);

function stack(shown) {
  const old = layout.height;
  let y = 0;
  layout.images = shown.map((it) => {
    const height = Math.max(1, Math.round((it.height * layout.width) / it.width));
    const placed = { image: it.key, x: 0, y, width: layout.width, height };
    y += height;
    return placed;
  });
  layout.height = Math.min(4096, y || layout.width);
  // What stood in the lower half keeps its distance from the lower edge.
  for (const box of layout.texts) if (box.y + box.height / 2 > old / 2) box.y += layout.height - old;
}

function arrange() {
  const place = $("#meme-pictures");
  if (!place) return;
  const shown = on();
  const rest = pictures.filter((it) => !shown.includes(it));
  const row = (it, ...buttons) => {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = it.name;
    item.append(name, ...buttons);
    return item;
  };
  const button = (label, name, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "plain";
    made.textContent = label;
    made.setAttribute("aria-label", `${label}: ${name}`);
    made.addEventListener("click", () => step("", act));
    return made;
  };
  const { up, off, on: add } = place.dataset;
  place.replaceChildren(
    ...shown.map((it, i) => row(it,
      ...(i ? [button(up, it.name, () => stack(shown.with(i, shown[i - 1]).with(i - 1, it)))] : []),
      ...(shown.length > 1 ? [button(off, it.name, () => stack(shown.filter((other) => other !== it)))] : []))),
    ...rest.map((it) => row(it, button(add, it.name, () => stack([...shown, it])))),
  );
}

/* ---- acts ------------------------------------------------------------------------------------------ */

const acts = {
  undo: () => travel(past, future),
  redo: () => travel(future, past),
  add: () => step("", () => {
    const size = Math.min(400, Math.max(6, layout.width * 0.1));
    const width = layout.width * 0.8;
    layout.texts.push({ text: form.dataset.newText, x: layout.width * 0.1, y: layout.height * 0.4, width, height: size * 1.5, font: "Anton", size, colour: "#ffffff", outline: "#000000", outline_width: size * 0.1, align: "center", uppercase: false, place: "top" });
    chosen = layout.texts.length - 1;
  }),
  remove: () => layout.texts[chosen] && change !== "image" && step("", () => {
    layout.texts.splice(chosen, 1);
    chosen = Math.min(chosen, layout.texts.length - 1);
  }),
};

form.addEventListener("click", (event) => acts[event.target.closest("[data-act]")?.dataset.act]?.());
form.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches("textarea, input:not([type=color], [type=checkbox])")) return;
  const act = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
  if (act) { event.preventDefault(); acts[act](); }
});
form.addEventListener("submit", () => { form.elements.scripted.value = "1"; form.elements.layout.value = JSON.stringify(layout); });

const boxes = new Boxes(stage, form.dataset.textName, {
  choose,
  remove: acts.remove,
  place: (i, values, kind) => step(kind, () => Object.assign(layout.texts[i], values)),
});

show();
