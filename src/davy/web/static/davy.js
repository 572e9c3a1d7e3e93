/* What pages do when scripts run: each part looks for its own attribute and leaves the rest alone.
   Everything works without this file; it only saves a step. */

document.documentElement.classList.add("scripted");

/* .rooms: on a phone tabs scroll sideways; the current one is brought into sight. */
for (const tabs of document.querySelectorAll(".rooms")) {
  const current = tabs.querySelector("[aria-current]");
  if (current) tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}

/* data-menu: on a phone the menu is a button. */
document.querySelector("[data-menu]")?.addEventListener("click", (event) => {
  const open = event.currentTarget.getAttribute("aria-expanded") !== "true";
  event.currentTarget.setAttribute("aria-expanded", open);
});

/* data-copy="ID": copy that element's text and say so on the button. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = button.dataset.copied;
  } catch {
    getSelection().selectAllChildren(source);
  }
});

/* data-address-of="ID": an address that follows that field's title until somebody types one. The server makes the same. */
for (const address of document.querySelectorAll("[data-address-of]")) {
  const title = document.getElementById(address.dataset.addressOf);
  const letters = { ä: "ae", ö: "oe", ü: "ue", ß: "ss" };
  const made = () => title.value.toLowerCase().replace(/[äöüß]/g, (it) => letters[it]).normalize("NFKD")
    .replace(/[^\x00-\x7f]/g, "").replace(/[^a-z0-9]+/g, "-").slice(0, 50).replace(/^-|-$/g, "");
  let last = made();
  title.addEventListener("input", () => {
    if (address.value === "" || address.value === last) address.value = made();
    last = made();
  });
}

/* data-submit-keys: Ctrl+Enter (or Cmd+Enter) in a text area sends its form. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  const area = event.target.closest("[data-submit-keys]");
  if (area) area.form.requestSubmit();
});

/* data-picture: the switch under a blurred picture fetches the sharp one, and puts the preview back when it is off. */
document.addEventListener("change", (event) => {
  const veil = event.target.closest("[data-picture]");
  if (!veil) return;
  const image = veil.closest(".veil").querySelector("img");
  image.dataset.preview ??= image.getAttribute("src");
  image.src = veil.checked ? `${image.dataset.preview}?sharp=1` : image.dataset.preview;
});

/* data-submit-on-change: a form of filters sends itself. */
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-submit-on-change]");
  if (form) form.requestSubmit();
});

/* data-check-all="NAME": a box that ticks every box of its form with this name, and shows whether all are ticked. */
document.addEventListener("change", (event) => {
  const form = event.target.form;
  const all = form?.querySelector("[data-check-all]");
  if (!all) return;
  const boxes = [...form.querySelectorAll(`input[type=checkbox][name="${all.dataset.checkAll}"]`)];
  if (event.target === all) for (const box of boxes) box.checked = all.checked;
  const ticked = boxes.filter((box) => box.checked).length;
  all.checked = ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
});

/* An error that htmx gets goes where the result would have gone: our error parts say what to do. */
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status === 401) location.reload();
  else if (xhr.status >= 400 && xhr.getResponseHeader("Content-Type")?.startsWith("text/html")) event.detail.shouldSwap = true;
});
document.addEventListener("htmx:sendError", () => {
  const place = document.getElementById("trouble");
  place.className = "fault";
  place.textContent = place.dataset.offline;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const place = document.getElementById("trouble");
  if (event.detail.successful) { place.className = "unseen"; place.textContent = ""; }
});
