// Open coding by keyboard: j and k move between posts, c types a code, 1 to 9 put the codes that are used most.
// Everything works without it; the forms are plain forms.

const page = document.querySelector("[data-coding]");

const posts = () => [...page.querySelectorAll(".coded-post")];

const current = () => {
  const inside = document.activeElement?.closest?.(".coded-post");
  return inside ?? page.querySelector(".coded-post.current") ?? posts()[0];
};

const go = (step) => {
  const all = posts();
  const place = all.findIndex((post) => post.classList.contains("current"));
  const next = all[Math.min(Math.max(place + step, 0), all.length - 1)];
  if (!next) return;
  all.forEach((post) => post.classList.toggle("current", post === next));
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
};

const put = (number) => {
  const name = page.querySelectorAll("[data-often] li")[number - 1]?.textContent;
  const form = current()?.querySelector(".add-code");
  if (!name || !form) return;
  form.elements.name.value = name;
  form.requestSubmit();
};

const typing = (event) => event.target.closest("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing(event)) return event.target.closest(".coded-post")?.focus();
  if (typing(event)) return;
  if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "c") current()?.querySelector(".add-code input[name=name]")?.focus();
  else if (/^[1-9]$/.test(event.key)) put(Number(event.key));
  else return;
  event.preventDefault();
});

page.addEventListener("focusin", (event) => {
  const here = event.target.closest(".coded-post");
  if (here) posts().forEach((post) => post.classList.toggle("current", post === here));
});

// After a code was put or taken, the post is new on the page: it stays the current one, and the field is ready.
document.addEventListener("htmx:afterSwap", (event) => {
  const post = event.detail.elt?.closest?.(".coded-post") ?? document.getElementById(event.detail.target?.id);
  if (!post?.classList?.contains("coded-post")) return;
  const typed = event.detail.requestConfig?.elt?.classList?.contains("add-code");
  post.classList.add("current");
  (typed && document.activeElement?.tagName !== "LI" ? post.querySelector(".add-code input[name=name]") : post).focus();
});
