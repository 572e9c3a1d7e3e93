/* A case: when an answer calls for another question, the keys go on with that one.
   label.js does the rest; without scripts the form comes back with what is still open. */

const open = document.querySelector("#open");
const names = () => [...open.querySelectorAll(".question")].map((it) => it.dataset.question);
let before = names();

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== open) return;
  const fresh = [...open.querySelectorAll(".question")].find((it) => !before.includes(it.dataset.question));
  before = names();
  const target = fresh?.querySelector(".option:not([hidden]) input");
  target?.focus({ preventScroll: true });
  fresh?.scrollIntoView({ block: "nearest" });
});
