// Open coding by keyboard: j and k move between posts, c types a code, 1 to 9 put the codes that are used most.
// Everything works without it; the forms are plain forms.

const page = document.querySelector("[data-coding]");

const posts = () => [...page.querySelectorAll(".coded-post")];

// The id of the current post. htmx puts a new element in the place of one whose codes changed; the id stays.
let here = "";

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
  if (name && current()) send(current(), name);
};

const fieldOf = (post) => post.querySelector(".add-code input[name=name]");

// What somebody types meanwhile stays.
const send = (post, name) => {
  const field = fieldOf(post);
  const draft = field.value;
  field.value = name;
  field.form.requestSubmit();
  field.value = draft;
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

// Each answer brings the post anew, and htmx forgets what was sent from the old one. So codes that come while one is
// on its way wait for it, and what is being typed moves over.
const waiting = new Map(); // a post's id → names
let draft = "";
let wasTyping = false;

page.addEventListener("submit", (event) => {
  const post = event.target.closest(".coded-post");
  if (post?.ariaBusy !== "true" || !event.target.matches(".add-code")) return;
  event.preventDefault();
  event.stopPropagation();
  waiting.set(post.id, [...(waiting.get(post.id) ?? []), fieldOf(post).value]);
  fieldOf(post).value = "";
}, true);

const sent = new Map(); // a post's id → the name on its way
document.addEventListener("htmx:beforeRequest", (event) => {
  const post = event.target.closest(".coded-post");
  if (!post) return;
  post.ariaBusy = "true";
  if (!event.target.matches(".add-code")) return;
  sent.set(post.id, fieldOf(post).value);
  fieldOf(post).value = "";
});
document.addEventListener("htmx:sendError", (event) => {
  const post = event.target.closest(".coded-post");
  if (!post) return;
  post.ariaBusy = "false";
  fieldOf(post).value ||= sent.get(post.id) ?? "";
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const field = event.detail.target.matches?.(".coded-post") && fieldOf(event.detail.target);
  if (!field) return;
  draft = field.value;
  wasTyping = field.form.contains(document.activeElement);
});
document.addEventListener("htmx:afterSettle", (event) => {
  const post = event.target;
  if (!post.matches?.(".coded-post")) return;
  fieldOf(post).value = draft;
  if (post.id === here) {
    show(post);
    (wasTyping ? fieldOf(post) : post).focus({ preventScroll: true });
  }
  const [next, ...rest] = waiting.get(post.id) ?? [];
  waiting.set(post.id, rest);
  if (next) send(post, next);
});
