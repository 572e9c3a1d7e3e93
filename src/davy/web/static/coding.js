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
  if (name && current()) addCode(current(), name);
};

const fieldOf = (post) => post.querySelector(".add-code input[name=name]");

// What somebody types meanwhile stays.
const addCode = (post, name) => {
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

// The form that takes a code off a post; none where it is off already.
const takeFormOf = (post, code) => [...post.querySelectorAll(".chips input[name=code]")].find((field) => field.value === code)?.form;

// Each answer brings the post anew, and htmx forgets what was sent from the old one. So whatever is put on or taken off
// while a change is on its way waits for it, and what is being typed moves over.
const waiting = new Map(); // a post's id → changes, each with a `name` to put on or a `code` to take off
let draft = "";
let wasTyping = false;

page.addEventListener("submit", (event) => {
  const post = event.target.closest(".coded-post");
  if (post?.ariaBusy !== "true") return;
  event.preventDefault();
  event.stopPropagation();
  const change = event.target.matches(".add-code") ? { name: fieldOf(post).value } : { code: event.target.elements.code.value };
  waiting.set(post.id, [...(waiting.get(post.id) ?? []), change]);
  if (change.name) fieldOf(post).value = "";
}, true);

const sendNext = (post) => {
  const changes = waiting.get(post.id) ?? [];
  waiting.delete(post.id);
  const place = changes.findIndex((change) => change.name || takeFormOf(post, change.code));
  if (place < 0) return;
  waiting.set(post.id, changes.slice(place + 1));
  const { name, code } = changes[place];
  if (name) addCode(post, name);
  else takeFormOf(post, code).requestSubmit();
};

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
  sendNext(post);
});
