/* A case: when an answer calls for another question, the keys go on with that one.
   label.js does the rest; without scripts the form comes back with what is still open. */

const open = document.querySelector("#open");
const sets = () => [...open.querySelectorAll(".question")];
const answers = () => [...open.querySelectorAll("input:checked")].map((it) => it.id).join();
let shown = sets().map((it) => it.dataset.question);
let asked = "";

/* A reply to older answers must not undo newer ones: htmx has the next request waiting, and its reply is used. */
document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt === open) asked = answers(); });
document.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.target === open && answers() !== asked) event.detail.shouldSwap = false; });

/* Nothing hangs on marked words, so marking one asks the server for nothing. */
open.addEventListener("change", (event) => { if (event.target.closest(".passage")) event.stopImmediatePropagation(); }, true);

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== open) return;
  const fresh = sets().find((it) => !shown.includes(it.dataset.question));
  shown = sets().map((it) => it.dataset.question);
  if (!fresh || document.activeElement?.matches("textarea")) return;
  fresh.querySelector(".option:not([hidden]) input")?.focus({ preventScroll: true });
  fresh.scrollIntoView({ block: "nearest" });
});
