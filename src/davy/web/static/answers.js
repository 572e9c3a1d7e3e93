/* Answers are never lost: what is typed is kept in this tab until the server has it, and a save that did not get
   through is sent again with the same id, so that it counts once. Also measures the time at a post, idle time left out.
   Runs before label.js, which says "davy:sheet" for each post, the first one too. */

const IDLE = 60_000; // without a key, a touch or a move for this long, nobody is reading
const WAITS = [2_000, 4_000, 8_000, 15_000];
const BROKEN = new Set([502, 503, 504]);
const $ = (selector, within = document) => within.querySelector(selector);
const form = () => $("#answer");
const isOurs = (element) => element?.matches?.("#answer, #undo, #sheet a");

/* ---- time at the post ------------------------------------------------------------------------- */

let seconds = 0;
let touched = performance.now();
let ticked = performance.now();

for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
  addEventListener(kind, () => { touched = performance.now(); }, { passive: true, capture: true });
}

function tick() {
  const now = performance.now();
  if (!document.hidden && now - touched < IDLE) seconds += Math.min(now - ticked, 2_000) / 1000;
  ticked = now;
  const field = form()?.elements.seconds;
  if (field) field.value = seconds.toFixed(1);
}
setInterval(tick, 1_000);
document.addEventListener("visibilitychange", tick);

/* ---- what is typed, kept in this tab ------------------------------------------------------------ */

const place = () => `davy:answer:${$("#sheet")?.dataset.path}`;

function keep(sent) {
  if (!form()) return;
  tick();
  const fields = [...new FormData(form())].filter(([name]) => name !== "csrf" && name !== "asked");
  sessionStorage.setItem(place(), JSON.stringify({ fields, sent, seconds }));
}

function forget() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith("davy:answer:") && key !== place()) sessionStorage.removeItem(key);
}

function bringBack() {
  const kept = sessionStorage.getItem(place());
  if (!form()) sessionStorage.removeItem(place());
  if (!kept || !form()) return;
  const { fields, sent, seconds: spent } = JSON.parse(kept);
  seconds = spent;
  const values = new Map();
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value]);
  for (const input of form().elements) {
    if (!input.name || ["csrf", "asked", "do", "guideline"].includes(input.name)) continue;
    if (input.type === "checkbox" || input.type === "radio") input.checked = values.get(input.name)?.includes(input.value) ?? false;
    else if (values.has(input.name) && (input.name !== "annotation_id" || sent)) [input.value] = values.get(input.name);
  }
  if ($("textarea", form())?.value) $(".comment", form()).open = true;
  form().dispatchEvent(new Event("change", { bubbles: true }));
  if (sent) again(sent);
}

document.addEventListener("input", (event) => { if (event.target.closest("#answer")) keep(null); });
document.addEventListener("change", (event) => { if (event.target.closest("#answer") && event.isTrusted) keep(null); });

/* ---- sending, and sending again ------------------------------------------------------------------ */

let tries = 0;
let timer = 0;
let pressed = null;

document.addEventListener("submit", (event) => { if (isOurs(event.target)) pressed = event.submitter; }, true);
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target !== form()) return;
  keep(pressed?.value ?? "save");
  form().setAttribute("aria-busy", "true");
});

document.addEventListener("htmx:afterRequest", (event) => { if (event.target === form()) form().removeAttribute("aria-busy"); });

function again(button) {
  const target = form();
  if (!target) return;
  target.inert = false;
  target.requestSubmit($(`button[name="do"][value="${button}"]`, target));
}

/* Wait and try again; the form stays as it was sent, so that one id never means two answers. */
function hold(source) {
  const kept = $("#kept");
  kept.hidden = false;
  $("#trouble").className = "unseen";
  $("#trouble").textContent = "";
  clearTimeout(timer);
  timer = setTimeout(() => retry(source), WAITS[Math.min(tries, WAITS.length - 1)]);
  tries += 1;
  if (source === form()) { source.inert = true; source.removeAttribute("aria-busy"); }
}

function retry(source) {
  clearTimeout(timer);
  if (source === form() && form()) again(pressed?.value ?? "save");
  else if (source?.isConnected) source.requestSubmit ? source.requestSubmit() : source.click();
}

let waiting = null;
for (const kind of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(kind, (event) => { if (isOurs(event.target)) hold(waiting = event.target); });
}
addEventListener("online", () => waiting && retry(waiting));
document.addEventListener("click", (event) => { if (event.target.closest("[data-try-now]")) retry(waiting); });
addEventListener("beforeunload", (event) => { if (waiting === form() && form()) event.preventDefault(); });

/* The server answered: what it says counts. A refusal is shown above the post, and the answer stays where it is. */
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target, requestConfig } = event.detail;
  if (target.id !== "sheet") return;
  if (form()) { form().inert = false; form().removeAttribute("aria-busy"); }
  if (BROKEN.has(xhr.status)) { event.detail.shouldSwap = false; hold(waiting = requestConfig.elt); return; }
  settle();
  if (xhr.status === 401) return; // the sign-in page follows, and then the answer is sent from what was kept
  sessionStorage.removeItem(place());
  if (xhr.status >= 400 && !xhr.responseText.includes('id="sheet"')) {
    keep(null);
    event.detail.target = $("#refusal");
    event.detail.swapOverride = "innerHTML";
  }
});

/* A redirect to a whole page is an answer, too. */
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) return;
  settle();
  sessionStorage.removeItem(place());
});

function settle() {
  clearTimeout(timer);
  tries = 0;
  waiting = null;
  $("#kept").hidden = true;
  $("#refusal")?.replaceChildren();
}

document.addEventListener("davy:sheet", () => {
  seconds = Number(form()?.elements.seconds.value) || 0;
  ticked = touched = performance.now();
  forget();
  bringBack();
});
