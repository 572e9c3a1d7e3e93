/* The labelling page by keyboard: which questions apply, which key means what, where the focus goes.
   Nothing here is needed to answer: without this file the form posts and comes back with what is still open. */

import { markKeys, prepareMarks } from "./marks.js";
import { choosingKeys, keysAreOff, showLetters, usualOf } from "./key_letters.js";

const root = document.documentElement;
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const form = () => $("#answer");
const questions = () => $$("#answer .question").filter((it) => !it.hidden);
const inputs = (set) => $$(".option:not([hidden]) input", set).filter((it) => !it.closest(".sieved"));
const isTyping = (target) => target.matches?.("textarea, select, input[type=text], input[type=search]");

/* ---- which questions apply ------------------------------------------------------------------ */

const chosen = (name) => $$("#answer .question:not([hidden]) .option input:checked").filter((it) => it.name === `answer.${name}`).map((it) => it.value);
const meets = (needs, name) => JSON.parse(needs).some((label) => chosen(name).includes(label));

function refresh() {
  if (!form()) return;
  for (const set of $$("#answer .question")) {
    const { under, needs } = set.dataset;
    if (!under) continue;
    set.hidden = set.disabled = !meets(needs, under);
    for (const option of $$("[data-beneath]", set)) {
      option.hidden = !meets(option.dataset.beneath, under);
      const input = $("input", option);
      input.disabled = option.hidden;
      if (option.hidden) input.checked = false;
    }
  }
  for (const set of questions()) if (isAnswered(set)) tellMissing(set, false);
  fold();
  mark();
}

/* A question that was passed over says so in words until it is answered. */
function tellMissing(set, missing) {
  set.classList.toggle("open", missing);
  const told = $(".wrong", set);
  if (!missing) { told?.remove(); return; }
  if (!told) $("legend", set).after(Object.assign(document.createElement("p"), { className: "wrong", textContent: set.dataset.words ?? "" }));
}

/* An answered question drops its definitions to make room. Only an answer or a key folds: a layout that moves when
   the focus does would take the ground from under a finger. */
function fold(except) {
  for (const set of $$("#answer .question")) set.classList.toggle("folded", set !== except && Boolean($("input[type=radio]:checked", set)));
}

/* ---- keys and the question they act on ------------------------------------------------------- */

const isAnswered = (set) => !("required" in set.dataset) || $(".option input:checked, .passage-word input:checked", set) || $("[data-own]", set)?.value.trim();

function current() {
  const focused = document.activeElement?.closest("#answer [data-keys]");
  if (focused && !focused.hidden) return focused;
  const open = questions();
  return open.find((set) => !isAnswered(set)) ?? open.find((set) => !$("input:checked", set)) ?? open.at(-1);
}

function keysOf(set) {
  if (keysAreOff) return new Map();
  const all = inputs(set);
  const keys = choosingKeys(COMMANDS);
  const first = all.length > keys.length ? all.filter((it) => "priority" in it.closest(".option").dataset) : all;
  return new Map((first.length ? first : all).slice(0, keys.length).map((input, place) => [input.closest(".option").dataset.digit ?? keys[place], input]));
}

/* Show the keys of the question they act on; the others keep quiet. */
function mark() {
  const now = current();
  for (const set of $$("#answer [data-keys]")) {
    set.classList.toggle("current", set === now);
    for (const hint of $$(".option kbd", set)) hint.textContent = "";
    if (set.hidden) continue;
    for (const [key, input] of keysOf(set)) $("kbd", input.closest(".option")).textContent = key;
  }
}

function choose(input) {
  const set = input.closest("[data-keys]");
  if (input.type === "radio") input.checked = true;
  else input.checked = !input.checked;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  input.dispatchEvent(new Event("input", { bubbles: true })); // what is kept in this tab
  input.focus({ preventScroll: true });
  if (input.type === "radio") {
    const next = questions().slice(questions().indexOf(set) + 1).find((it) => !isAnswered(it));
    if (next) enter(next);
    else advance(set);
  }
}

/* Who chose so: the last answer of a post saves it. Where several labels may be chosen, only the person knows when they are through. */
function advance(set) {
  if (!("autoAdvance" in root.dataset) || !form()?.matches("[data-may-advance]")) return;
  const last = questions().at(-1);
  if (set === last && !$("[data-own], input[type=checkbox]", last) && questions().every(isAnswered)) save();
}

function enter(set) {
  fold(set);
  const target = $("input:checked", set) ?? inputs(set)[0] ?? $(".passage-word input", set) ?? $("[data-own]", set);
  target?.focus({ preventScroll: true });
  set.scrollIntoView({ block: "nearest" });
  mark();
}

function markWords() {
  const set = questions().find((it) => $(".passage-word", it));
  if (set) enter(set);
}

function step(by) {
  const sets = questions();
  const place = sets.indexOf(current());
  const set = sets[Math.min(Math.max(place + by, 0), sets.length - 1)];
  if (set) enter(set);
}

/* ---- what a key does ------------------------------------------------------------------------- */

/* Enter presses the one primary button; a required question that is open gets the focus instead. */
export function save() {
  const primary = $("#sheet .primary");
  if (!primary) return;
  const open = form() && questions().find((set) => !isAnswered(set));
  if (open) {
    tellMissing(open, true);
    say($("#sheet").dataset.missing ?? "");
    enter(open);
  } else if (form()) form().requestSubmit(primary);
  else primary.click();
}

const press = (key) => $(`#sheet [data-key="${key}"]`)?.click();

function lift() {
  const veils = $$("#post [data-veil]");
  const next = veils.find((it) => !it.checked);
  for (const veil of next ? [next] : veils) {
    veil.checked = Boolean(next);
    veil.dispatchEvent(new Event("change", { bubbles: true }));
  }
  unblur();
}

/* What is blurred is not read aloud either, nor marked unseen. */
function unblur() {
  const veiled = Boolean($("#post [data-unblur]:not(:checked)"));
  for (const marks of $$("#answer [data-marks]")) marks.inert = veiled;
  for (const veil of $$("#post [data-unblur]")) $(".words", veil.closest(".veil")).setAttribute("aria-hidden", String(!veil.checked));
}

/* Where there is room the guideline is always open; browsers that can't do that in CSS get it from here. */
const beside = () => matchMedia("(min-width: 60rem)").matches;

function guide() {
  const place = $("#guide > details");
  if (!place) return;
  const away = $("#guide").contains(document.activeElement);
  place.open = !away || beside();
  if (away) $("#post").focus();
  else { $(".guide-text", place).focus({ preventScroll: true }); place.scrollIntoView({ block: "nearest" }); }
}

function comment() {
  const place = $("#answer .comment");
  if (!place) return;
  place.open = true;
  $("textarea", place).focus();
}

function definitions() {
  const off = root.classList.toggle("no-definitions");
  const token = $("#sheet input[name=csrf], #answer input[name=csrf]")?.value;
  fetch("/account/labelling", { method: "POST", headers: { "HX-Request": "true" }, body: new URLSearchParams({ csrf: token, definitions: off ? "off" : "on" }) }).catch(() => {}); // offline: it holds for this page
}

const COMMANDS = {
  u: () => press("u"), s: () => press("s"), r: () => press("r"),
  f: () => $("#answer .flags") && enter($("#answer .flags")),
  c: comment, v: lift, g: guide, d: definitions, n: () => step(1), p: () => step(-1), m: markWords,
  "/": () => $("[data-find]", current() ?? document)?.focus(),
  "?": () => $("#keys").showModal(),
  ".": () => reuseReason(1),
};

/* An expert's earlier reason goes into the box, to send as it is or to change. */
function reuseReason(place) {
  const again = $("#reason-again");
  if (!again?.options[place]) return;
  $("#reason").value = again.options[place].value;
  again.selectedIndex = 0;
}

document.addEventListener("keydown", (event) => {
  const { target } = event;
  const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key; // Caps Lock changes nothing
  if (!$("#sheet") || $("#keys")?.open || event.altKey || event.isComposing) return;
  if (form()?.ariaBusy === "true") { event.preventDefault(); return; } // it is on its way: no key may change it now
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); return; }
  if (event.ctrlKey || event.metaKey) return;
  if (isTyping(target)) { typed(event); return; }
  if (key === "Escape") { $("#post").focus(); return; }
  if (markKeys(event)) return;
  if (key === "Enter") {
    if (target.closest("button, a, summary")) return;
    event.preventDefault();
    if (!event.repeat) save();
    return;
  }
  if (event.repeat || keysAreOff) return;
  const set = form() && current();
  const input = set && keysOf(set).get(key);
  const command = usualOf(COMMANDS, key);
  if (command !== "r" && key.length === 1) disarm();
  if (input) choose(input);
  else if (command) COMMANDS[command]();
  else return;
  event.preventDefault();
});

/* In a box, keys are text: only Enter and Escape mean something. */
function typed(event) {
  const { key, target } = event;
  if (key === "Escape") { target.blur(); $("#post").focus(); event.preventDefault(); return; }
  if (key !== "Enter" || target.matches("textarea, select")) return;
  event.preventDefault();
  if (!target.matches("[data-find]") || !target.value) { save(); return; }
  const set = target.closest("fieldset");
  const found = inputs(set)[0];
  target.value = "";
  if (found) choose(found);
  sieve(target);
  target.focus();
}

function sieve(box) {
  const wanted = box.value.trim().toLocaleLowerCase();
  const set = box.closest("fieldset");
  for (const option of $$(".option", set)) option.classList.toggle("sieved", Boolean(wanted) && !option.textContent.toLocaleLowerCase().includes(wanted));
  for (const heading of $$(".group", set)) heading.hidden = !$(".option:not(.sieved, [hidden])", heading.nextElementSibling);
  mark();
}

/* ---- refusing takes two presses, and never a reason; any other act between them takes the first one back ---- */

function disarm() {
  const button = $('button[value="refuse"].armed');
  if (!button) return;
  button.classList.remove("armed");
  button.firstChild.textContent = `${button.dataset.unarmed} `;
  for (const sure of $$('input[name="sure"]', button.form)) sure.remove();
  say("");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest('button[value="refuse"]');
  if (!button) { disarm(); return; }
  if (button.classList.contains("armed")) return;
  event.preventDefault();
  event.stopPropagation(); // htmx would send this button with whatever is sent next
  button.classList.add("armed");
  button.firstChild.textContent = `${button.dataset.sure} `;
  const sure = Object.assign(document.createElement("input"), { type: "hidden", name: "sure", value: "yes" });
  button.after(sure);
  say(button.dataset.sure);
}, true);
document.addEventListener("click", (event) => { if (event.target.closest("[data-open-keys]")) $("#keys").showModal(); });

/* ---- each new post ---------------------------------------------------------------------------- */

export function say(words, asks = Boolean(words)) {
  $("#said").textContent = words;
  $("#said").classList.toggle("asks", asks);
}

let pressed = 0; // arrow keys change a radio button, too, while somebody is still looking: only a press counts as an answer
document.addEventListener("keydown", () => { pressed = 0; }, true);
document.addEventListener("pointerup", (event) => { if (event.target.closest?.("#answer .option")) pressed = performance.now(); });
document.addEventListener("change", (event) => {
  if (event.target.id === "reason-again") reuseReason(event.target.selectedIndex);
  const set = event.target.closest("#answer .question");
  if (event.target.closest("#answer")) refresh();
  if (event.target.matches("[data-unblur]")) unblur();
  if (event.isTrusted) disarm();
  if (set && event.isTrusted && event.target.type === "radio" && performance.now() - pressed < 500) advance(set);
});
document.addEventListener("input", (event) => { disarm(); if (event.target.matches("[data-find]")) sieve(event.target); });
document.addEventListener("focusin", () => form() && mark());

/* Whether somebody went back while this page was loading, so that the address is another post's by now. */
function wentBack() {
  const served = $(".bench[data-address]")?.dataset.address ?? "";
  const now = decodeURI(location.pathname);
  const folder = (address) => address.slice(0, address.lastIndexOf("/"));
  return served !== now && folder(served) === folder(now);
}

/* Each post has an address of its own, so that the way back leads to what was answered. */
function begin(swapped) {
  const sheet = $("#sheet");
  if (!sheet) return;
  window.htmx?.process(sheet); // htmx looks for forms only when all scripts have run: an Enter before that would leave the page
  const { path } = sheet.dataset;
  if (!swapped && wentBack()) { location.reload(); return; }
  if (swapped && path !== location.pathname) history.pushState({}, "", path);
  else if (path !== location.pathname) history.replaceState({}, "", path);
  prepareMarks();
  refresh();
  unblur();
  showLetters(COMMANDS);
  measurePost();
  if (beside() && $("#guide > details")) $("#guide > details").open = true;
  if (swapped) { $("#said").classList.remove("asks"); scrollTo(0, beside() ? 0 : $(".strip")?.offsetTop ?? 0); (sheet.querySelector(".wrong")?.closest("fieldset")?.querySelector("input:not([type=hidden])") ?? $("#post")).focus({ preventScroll: true }); }
  document.dispatchEvent(new CustomEvent("davy:sheet"));
}

/* The post stays in view above the questions: what scrolls to a question must know how tall it is. */
const heights = new ResizeObserver(measurePost);
function measurePost() {
  const post = $("#post");
  if (!post) return;
  root.style.setProperty("--post-height", `${post.offsetHeight}px`);
  heights.observe(post);
}

document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "sheet") begin(true); });
document.addEventListener("htmx:afterSettle", () => { if (form()) { prepareMarks(); refresh(); unblur(); } }); // htmx resets classes when it settles
addEventListener("popstate", () => location.reload());
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
begin(false);
