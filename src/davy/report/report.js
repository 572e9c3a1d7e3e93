// Shows a veiled word on a click, Enter or Space, and all of them with one button. Nothing leaves the page.
"use strict";
document.documentElement.classList.remove("no-script");
function show(button, plain) {
  button.setAttribute("aria-pressed", plain ? "true" : "false");
  button.textContent = plain ? button.dataset.plain : button.dataset.masked;
}
document.addEventListener("click", (event) => {
  const word = event.target.closest(".veiled");
  if (word) show(word, word.getAttribute("aria-pressed") !== "true");
  const all = event.target.closest("#show-all");
  if (!all) return;
  const plain = all.getAttribute("aria-pressed") !== "true";
  all.setAttribute("aria-pressed", plain ? "true" : "false");
  all.textContent = plain ? all.dataset.hide : all.dataset.show;
  document.querySelectorAll(".veiled").forEach((button) => show(button, plain));
});
