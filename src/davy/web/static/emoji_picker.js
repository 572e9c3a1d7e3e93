// An emoji picker beside a text area: <div data-emoji-picker data-for="ID"> with a button and the words in data-*.
// In: the two lists of emoji that the package carries (names from Unicode's CLDR). Out: the emoji at the caret.
// Nothing is fetched before the first opening; the search takes English and German words at once. Keys that are pressed
// while the lists load act when they are there.

const GROUPS = [[0, "😀"], [1, "👋"], [3, "🐻"], [4, "🍎"], [5, "🚗"], [6, "⚽"], [7, "💡"], [8, "❤️"], [9, "🏁"]];
const HANDS = ["✋", "✋🏻", "✋🏼", "✋🏽", "✋🏾", "✋🏿"];
const NEWEST = 15; // Unicode's emoji version: what came later shows as an empty box on most systems.
const MOST = 120;
const TONE_KEY = "emoji-skin-tone";

let loading;

const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/ß/g, "ss");

const fetchList = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.json();
};

// Each emoji once, with its name in the page's language and the words of both languages to search in.
const load = (place) => {
  loading ??= Promise.all([fetchList(place.dataset.en), fetchList(place.dataset.de)])
    .then(([english, german]) => {
      const other = new Map(german.map((row) => [row.emoji, row]));
      const ownFirst = document.documentElement.lang === "de";
      return english.filter((row) => row.version <= NEWEST && row.group !== 2).map((row) => {
        const twin = other.get(row.emoji) ?? row;
        const words = [row, twin].flatMap((each) => [each.annotation, ...(each.tags ?? [])]).map(fold);
        return { emoji: row.emoji, group: row.group, name: (ownFirst ? twin : row).annotation, words, skins: row.skins ?? [] };
      });
    })
    .catch((error) => { loading = undefined; throw error; });
  return loading;
};

// The lists write "show as a picture" (U+FE0F) behind emoji that are pictures anyway; keyboards don't.
const tidy = (emoji) => emoji.replace(/^(\p{Emoji_Presentation})\uFE0F$/u, "$1");

const inTone = (row, tone) => row.skins.find((skin) => skin.tone === tone)?.emoji ?? tidy(row.emoji);

// 0: a word is what was typed; 1: a word starts with it; 2: a word within a name does; 9: none.
const distance = (row, word) => {
  let best = 9;
  for (const each of row.words) {
    if (each === word) return 0;
    if (each.startsWith(word)) best = Math.min(best, 1);
    else if (each.includes(` ${word}`)) best = Math.min(best, 2);
  }
  return best;
};

const search = (rows, text) => {
  const words = fold(text).split(/\s+/).filter(Boolean);
  const whole = words.join(" ");
  return rows
    .map((row, order) => [row.words.includes(whole) ? -1 : Math.max(...words.map((word) => distance(row, word))), order, row])
    .filter(([far]) => far < 9)
    .sort((one, two) => one[0] - two[0] || one[1] - two[1])
    .slice(0, MOST)
    .map(([, , row]) => row);
};

const readTone = () => {
  try { return Number(localStorage.getItem(TONE_KEY)) || 0; } catch { return 0; }
};
const keepTone = (tone) => {
  try { localStorage.setItem(TONE_KEY, String(tone)); } catch { /* a browser that keeps nothing: the tone holds for this page */ }
};

const element = (tag, attributes = {}, text = "") => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};

const insert = (place, emoji) => {
  const area = document.getElementById(place.dataset.for);
  if (!area) return;
  area.setRangeText(emoji, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
};

const build = (place) => {
  const { dataset: words } = place;
  const panel = element("div", { class: "emoji-panel", role: "group", "aria-label": words.label });
  const field = element("input", { type: "search", placeholder: words.search, "aria-label": words.search, autocomplete: "off", maxlength: "60" });
  const tone = element("select", { "aria-label": words.tone });
  HANDS.forEach((hand, number) => tone.append(element("option", { value: number }, hand)));
  tone.value = String(readTone());
  const names = words.groups.split("|");
  const tabs = element("div", { class: "emoji-groups", role: "group" });
  GROUPS.forEach(([group, emoji], index) => {
    tabs.append(element("button", { type: "button", "data-group": group, "aria-pressed": "false", "aria-label": names[index], title: names[index] }, emoji));
  });
  const grid = element("div", { class: "emoji-grid", role: "group", "aria-label": words.label });
  const status = element("p", { class: "small quiet", role: "status" }, words.loading);
  const line = element("div", { class: "emoji-find" });
  line.append(field, tone);
  panel.append(line, tabs, grid, status);
  place.append(panel);
  return { panel, field, tone, tabs, grid, status };
};

const attach = (place) => {
  const { panel, field, tone, tabs, grid, status } = build(place);
  let group = 0;
  let rows = null;
  let pending; // what the last Enter or ArrowDown asked for while the lists load: it acts once

  const whenLoaded = (act) => { if (rows) act(); else pending = act; };
  const matches = (typed) => (typed ? search(rows, typed) : rows.filter((row) => row.group === group));
  const put = (emoji) => {
    insert(place, emoji);
    status.textContent = `${emoji} ${place.dataset.put}`;
  };

  const show = () => {
    if (!rows) return;
    const typed = field.value.trim();
    const shown = matches(typed);
    grid.replaceChildren(...shown.map((row, number) => element("button", {
      type: "button", "data-emoji": inTone(row, Number(tone.value)), title: row.name, "aria-label": row.name, tabindex: number ? "-1" : "0",
    }, inTone(row, Number(tone.value)))));
    grid.scrollTop = 0;
    status.textContent = typed && !shown.length ? place.dataset.none : "";
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(!typed && Number(tab.dataset.group) === group));
  };

  const step = (from, key) => {
    const all = [...grid.children];
    const here = all.indexOf(from);
    const columns = Math.max(1, all.findIndex((each) => each.offsetTop > all[0].offsetTop));
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, ArrowDown: here + columns, ArrowUp: here - columns, Home: 0, End: all.length - 1 }[key];
    if (next < 0 && key === "ArrowUp") return field.focus();
    const target = all[Math.min(Math.max(next, 0), all.length - 1)];
    from.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  };

  field.addEventListener("input", show);
  tone.addEventListener("change", () => { keepTone(tone.value); show(); });
  tabs.addEventListener("click", (event) => {
    const tab = event.target.closest("[data-group]");
    if (!tab) return;
    group = Number(tab.dataset.group);
    field.value = "";
    show();
  });
  grid.addEventListener("click", (event) => {
    const button = event.target.closest("[data-emoji]");
    if (button) put(button.dataset.emoji);
  });
  panel.addEventListener("keydown", (event) => {
    // An Enter in the search must not send the form that the picker stands in.
    if (event.key === "Enter" && event.target === field) {
      event.preventDefault();
      const typed = field.value.trim();
      whenLoaded(() => {
        const [first] = matches(typed);
        if (first) put(inTone(first, Number(tone.value)));
      });
    } else if (event.key === "ArrowDown" && event.target === field) {
      event.preventDefault();
      whenLoaded(() => { if (document.activeElement === field) grid.querySelector("[data-emoji]")?.focus(); });
    } else if (event.target.dataset.emoji && /^(Arrow|Home$|End$)/.test(event.key)) {
      event.preventDefault();
      step(event.target, event.key);
    }
  });

  load(place).then((loaded) => {
    rows = loaded;
    show();
    if (panel.isConnected) pending?.();
  }, () => { status.textContent = place.dataset.failed; });
  return panel;
};

const opener = (place) => place.querySelector("[data-emoji-open]");

const close = (place, { back = false } = {}) => {
  const panel = place.querySelector(".emoji-panel");
  if (!panel || panel.hidden) return;
  if (panel.querySelector("[data-emoji]")) panel.hidden = true;
  else panel.remove(); // it was loading, could not, or found nothing: the next opening begins anew
  opener(place).setAttribute("aria-expanded", "false");
  if (back) document.getElementById(place.dataset.for)?.focus();
};

const open = (place) => {
  opener(place).setAttribute("aria-expanded", "true");
  const panel = place.querySelector(".emoji-panel") ?? attach(place);
  panel.hidden = false;
  panel.querySelector("input").focus();
};

// Delegated, so that pickers in parts that htmx brings work too.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-emoji-open]");
  const own = event.target.closest("[data-emoji-picker]");
  for (const place of document.querySelectorAll("[data-emoji-picker]")) {
    if (place !== own && event.target.id !== place.dataset.for) close(place);
  }
  if (!button) return;
  if (button.getAttribute("aria-expanded") === "true") close(own, { back: true });
  else open(own);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const place = event.target.closest?.("[data-emoji-picker]");
  if (place) close(place, { back: true });
});
