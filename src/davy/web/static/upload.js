/* Files that are too large or too many are said before they are sent, so that nobody waits for an upload that is refused
   and the form stays as it is. */

for (const field of document.querySelectorAll("[data-largest]")) {
  const form = field.closest("form");
  const first = form.querySelector("input[type=file]");
  const told = document.createElement("p");
  told.className = "wrong";
  told.setAttribute("role", "alert");
  first.before(told);
  const check = () => {
    const files = [...form.querySelectorAll("input[type=file]")].flatMap((it) => [...it.files]);
    const { largest, tooLarge, mostFiles, tooMany } = field.dataset;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    told.textContent = size > Number(largest) ? tooLarge : files.length > Number(mostFiles) ? tooMany : "";
    return Boolean(told.textContent);
  };
  form.addEventListener("change", check);
  form.addEventListener("submit", (event) => {
    if (!check()) return;
    event.preventDefault();
    told.scrollIntoView({ block: "center" });
  });
}
