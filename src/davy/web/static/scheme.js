/* The scheme editor: rows for labels are added and moved without a reload, and only the chosen parent's answers show.
   Nothing here is needed: without this file the form has empty rows and a number for the order. */

const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const rows = document.querySelector("[data-rows]");

/* ---- asked when ------------------------------------------------------------------------------ */

const parents = document.querySelector("[data-parents]");
function showParent() {
  const chosen = parents.querySelector("select").value;
  for (const set of $$("[data-parent]", parents)) set.hidden = set.dataset.parent !== chosen;
}
if (parents) {
  parents.addEventListener("change", showParent);
  showParent();
}

/* ---- rows of labels --------------------------------------------------------------------------- */

const blank = rows && $$("[data-row]", rows).at(-1)?.cloneNode(true);

function renumber() {
  $$("[data-row]", rows).forEach((row, place) => { row.querySelector('[name$=".place"]').value = place + 1; });
}

function addRow() {
  const row = blank.cloneNode(true);
  const n = 1 + Math.max(...$$('[name$=".was"]', rows).map((it) => Number(it.name.split(".")[1])));
  if (n >= Number(rows.dataset.most)) return;
  row.id = `label-${n}`;
  for (const it of $$("[name], [id], [for], [aria-describedby]", row)) {
    for (const key of ["name", "id", "for", "aria-describedby"]) {
      const value = it.getAttribute(key);
      if (value) it.setAttribute(key, value.replaceAll(/label\.\d+/g, `label.${n}`));
    }
  }
  rows.append(row);
  renumber();
  row.querySelector('[name*=".title."]').focus();
}

if (rows) {
  document.querySelector("[data-add-row]").addEventListener("click", addRow);
  rows.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    const row = button?.closest("[data-row]");
    if (!row) return;
    if (button.dataset.move === "1") row.nextElementSibling?.after(row);
    else row.previousElementSibling?.before(row);
    renumber();
    button.focus();
    dirty = true;
  });
}

/* ---- what is not saved yet ---------------------------------------------------------------------- */

let dirty = false;
for (const form of $$("[data-editor]")) {
  form.addEventListener("input", () => { dirty = true; });
  form.addEventListener("submit", () => { dirty = false; });
}
addEventListener("beforeunload", (event) => { if (dirty) event.preventDefault(); });
