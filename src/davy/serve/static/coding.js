// Open coding by keyboard: j and k move between posts, c types a code, 1 to 9 put the codes that are used most.
// Everything works without it; the forms are plain forms.

const page = document.querySelector("[data-coding]");

const posts = () => [...page.querySelectorAll(".coded-post")];

// The id of the current post. htmx puts a new element in the place of one whose codes changed; the id stays.
let here = "";
let typed = false;

const show = (post) => {
  if (!post) return;
  here = post.id;
  // Not a class: htmx gives new elements their classes a moment later, and would take this one away again.
  page.querySelector(".coded-post[aria-current]")?.removeAttribute("aria-current");
  post.setAttribute("aria-current", "true");
};

const current = () => document.getElementById(here) ?? posts()[0];

const go = (step) => {
  const all = posts();
  const place = all.findIndex((post) => post.id === here);
  const next = all[Math.min(Math.max(place + step, 0), all.length - 1)];
  show(next);
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
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

page.addEventListener("focusin", (event) => show(event.target.closest(".coded-post")));

// After a code was put or taken, the post is new on the page. Whoever typed it goes on typing there.
document.addEventListener("htmx:afterSwap", (event) => {
  const post = document.getElementById(event.detail.target?.id);
  if (!post?.classList.contains("coded-post") || post.id !== here) return;
  show(post);
  (typed ? post.querySelector(".add-code input[name=name]") : post).focus({ preventScroll: true });
});

page.addEventListener("submit", (event) => {
  typed = event.target.matches(".add-code") && event.target.contains(document.activeElement);
});
