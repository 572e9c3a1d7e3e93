/* A file that is too large is said before it is sent, so that nobody waits for an upload that is refused and the form stays. */

for (const field of document.querySelectorAll("[data-largest]")) {
  const form = field.closest("form");
  const told = document.createElement("p");
  told.className = "wrong";
  told.setAttribute("role", "alert");
  field.querySelector("input").before(told);
  const size = () => [...form.querySelectorAll("input[type=file]")].flatMap((it) => [...it.files]).reduce((sum, file) => sum + file.size, 0);
  const check = () => {
    const over = size() > Number(field.dataset.largest);
    told.textContent = over ? field.dataset.tooLarge : "";
    return over;
  };
  form.addEventListener("change", check);
  form.addEventListener("submit", (event) => {
    if (!check()) return;
    event.preventDefault();
    field.scrollIntoView({ block: "center" });
  });
}
