/* Writing an entry: which questions apply, how long it took, and a draft that survives a reload.
   Nothing here is needed: without this file the form posts and comes back with what is still open. */

const IDLE = 60_000; // without a key, a touch or a move for this long, nobody is writing
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const form = () => $("form.entry");

/* ---- which questions apply -------------------------------------------------------------------- */

const chosen = (name) => $$(".question:not([hidden]) .option input:checked", form()).filter((it) => it.name === `answer.${name}`).map((it) => it.value);
const meets = (needs, name) => JSON.parse(needs).some((label) => chosen(name).includes(label));

function refresh() {
  for (const set of form() ? $$(".question[data-under]", form()) : []) {
    set.hidden = set.disabled = !meets(set.dataset.needs, set.dataset.under);
    for (const option of $$("[data-beneath]", set)) {
      option.hidden = $("input", option).disabled = !meets(option.dataset.beneath, set.dataset.under);
    }
  }
}

function sieve(box) {
  const wanted = box.value.trim().toLocaleLowerCase();
  const set = box.closest("fieldset");
  for (const option of $$(".option", set)) option.classList.toggle("sieved", Boolean(wanted) && !option.textContent.toLocaleLowerCase().includes(wanted));
  for (const heading of $$(".group", set)) heading.hidden = !$(".option:not(.sieved, [hidden])", heading.nextElementSibling);
}

/* ---- time, idle time left out ------------------------------------------------------------------ */

let touched = performance.now();
let ticked = performance.now();
for (const kind of ["keydown", "pointerdown", "pointermove", "touchstart"]) {
  addEventListener(kind, () => { touched = performance.now(); }, { passive: true, capture: true });
}
setInterval(() => {
  const now = performance.now();
  const field = form()?.elements.seconds;
  if (field && !document.hidden && now - touched < IDLE) field.value = (Number(field.value) + Math.min(now - ticked, 2_000) / 1000).toFixed(1);
  ticked = now;
}, 1_000);

/* ---- the draft, kept in this tab until the server has it ----------------------------------------- */

const place = () => form()?.dataset.draft && `davy:draft:${form().dataset.draft}`;

function bringBack() {
  const area = form()?.elements.text;
  const kept = place() && sessionStorage.getItem(place());
  if (area && kept && !area.value) area.value = kept;
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-find]")) sieve(event.target);
  if (place() && event.target.name === "text") sessionStorage.setItem(place(), event.target.value);
});
document.addEventListener("change", (event) => { if (form()?.contains(event.target)) refresh(); });
document.addEventListener("htmx:afterSwap", () => {
  refresh();
  if ($("#entry .verdict-card")) { sessionStorage.removeItem(place()); form()?.elements.text.focus(); }
});
if ($(".verdict-card") && place()) sessionStorage.removeItem(place());
bringBack();
refresh();
