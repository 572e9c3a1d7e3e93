/* Marking words of the post: by keys, by dragging, by Shift and a click. Each word is a checkbox, so that a tap, the
   space bar, a screen reader and a page without scripts need nothing of this file. */

const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const wordsOf = (marks) => $$(".passage-word input", marks);
const marksOf = (target) => target?.closest?.("[data-marks]");

/* One stop of the Tab key for a text: the word that was last at hand. */
export function prepareMarks() {
  for (const marks of $$("[data-marks]")) hold(marks, wordsOf(marks).find((it) => it === document.activeElement) ?? wordsOf(marks).find((it) => it.checked) ?? wordsOf(marks)[0]);
}

function hold(marks, word) {
  for (const it of wordsOf(marks)) it.tabIndex = it === word ? 0 : -1;
}

function go(marks, word) {
  if (!word) return;
  hold(marks, word);
  word.focus({ preventScroll: true });
  word.parentElement.scrollIntoView({ block: "nearest" });
}

/* Set words, and tell the page once. */
function set(words, checked) {
  const changed = words.filter((it) => it.checked !== checked);
  for (const it of changed) it.checked = checked;
  changed.at(-1)?.dispatchEvent(new Event("input", { bubbles: true })); // what is kept in this tab
  changed.at(-1)?.dispatchEvent(new Event("change", { bubbles: true }));
}

const between = (words, one, other) => words.slice(Math.min(words.indexOf(one), words.indexOf(other)), Math.max(words.indexOf(one), words.indexOf(other)) + 1);

/* ---- keys ------------------------------------------------------------------------------------- */

let last = null; // the word that was marked last
let anchor = null; // where marking by Shift began

/* The word in the line above or below that is nearest to this one. */
function inLine(words, word, way) {
  const box = (it) => it.parentElement.querySelector(".word").getBoundingClientRect();
  const here = box(word);
  const beyond = words.filter((it) => (way > 0 ? box(it).top >= here.bottom - 2 : box(it).bottom <= here.top + 2));
  const line = way > 0 ? Math.min(...beyond.map((it) => box(it).top)) : Math.max(...beyond.map((it) => box(it).top));
  return beyond.filter((it) => Math.abs(box(it).top - line) < 8).sort((a, b) => Math.abs(box(a).left - here.left) - Math.abs(box(b).left - here.left))[0];
}

/* Return whether a key was about marking. */
export function markKeys(event) {
  const { key, target } = event;
  const marks = marksOf(target);
  if (!marks || !target.matches("input")) return false;
  const words = wordsOf(marks);
  const forward = getComputedStyle(marks).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  const by = { ArrowLeft: forward === "ArrowLeft" ? 1 : -1, ArrowRight: forward === "ArrowRight" ? 1 : -1 }[key];
  const place = words.indexOf(target);
  const to = by ? words[place + by] : { ArrowUp: inLine(words, target, -1), ArrowDown: inLine(words, target, 1), Home: words[0], End: words.at(-1) }[key];
  if (by || ["ArrowUp", "ArrowDown", "Home", "End"].includes(key)) {
    if (event.shiftKey && to) extend(words, target, to);
    else anchor = null;
    go(marks, to);
  } else if (key === "Backspace" || key === "Delete") {
    const off = target.checked ? target : last?.checked && words.includes(last) ? last : words.findLast((it) => it.checked);
    if (off) { set([off], false); go(marks, off); }
  } else return false;
  event.preventDefault();
  return true;
}

/* Shift marks from where it was first pressed to here, and takes back what lies beyond. */
function extend(words, from, to) {
  anchor = words.includes(anchor) ? anchor : from;
  const kept = between(words, anchor, to);
  set(between(words, anchor, from).filter((it) => !kept.includes(it)), false);
  set(kept, true);
  last = to;
}

document.addEventListener("change", (event) => {
  const marks = marksOf(event.target);
  if (!marks) return;
  hold(marks, event.target);
  if (event.target.checked) last = event.target;
}, true);

/* ---- dragging, with a mouse or a finger; Shift and a click marks up to there --------------------- */

let drag = null;

const wordAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest(".passage-word")?.querySelector("input");

document.addEventListener("pointerdown", (event) => {
  const marks = marksOf(event.target);
  const word = event.button === 0 && event.target.closest(".passage-word")?.querySelector("input");
  drag = marks && word ? { marks, from: word, on: !word.checked, before: new Map(wordsOf(marks).map((it) => [it, it.checked])), moved: false } : null;
});

document.addEventListener("pointermove", (event) => {
  const word = drag && !drag.over && wordAt(event);
  if (!word || marksOf(word) !== drag.marks || (word === drag.from && !drag.moved)) return;
  drag.moved = true;
  const chosen = between([...drag.before.keys()], drag.from, word);
  for (const [it, was] of drag.before) it.checked = chosen.includes(it) ? drag.on : was;
});

document.addEventListener("pointerup", () => {
  if (!drag?.moved || drag.over) { drag = null; return; }
  drag.over = true;
  const word = drag.from;
  setTimeout(() => word.dispatchEvent(new Event("change", { bubbles: true })));
  word.dispatchEvent(new Event("input", { bubbles: true }));
});
document.addEventListener("pointercancel", () => { // the finger scrolls the page
  if (drag) for (const [it, was] of drag.before) it.checked = was;
  drag = null;
});

/* The click that follows a drag must not turn the last word again. */
document.addEventListener("click", (event) => {
  const word = event.target.closest?.(".passage-word")?.querySelector("input");
  if (!word || !marksOf(word)) return;
  if (drag?.moved) { event.preventDefault(); drag = null; return; }
  const words = wordsOf(marksOf(word));
  if (event.shiftKey && words.includes(last) && event.target !== word) {
    event.preventDefault();
    set(between(words, last, word), true);
    go(marksOf(word), word);
  }
}, true);
