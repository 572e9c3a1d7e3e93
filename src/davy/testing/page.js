// Filters over a check's cases. The cases are in the page as data; nothing leaves the page.
(() => {
  const data = document.getElementById("cases-data");
  if (!data) return;
  const { cases, models, functionalities, sets, targets, labels } = JSON.parse(data.textContent);
  const STEP = 50;
  const body = document.querySelector("#cases-list tbody");
  const found = document.getElementById("cases-found");
  const said = document.querySelector(".cases").dataset;
  const count = (number) => number.toLocaleString(document.documentElement.lang);
  const more = document.getElementById("cases-more");
  const field = (name) => document.getElementById(`filter-${name}`);
  const names = ["result", "functionality", "set", "target", "label", "search"];
  let chosen = [];
  let shown = 0;

  const plain = () => document.getElementById("show-all")?.getAttribute("aria-pressed") === "true";

  function make(tag, css, text) {
    const node = document.createElement(tag);
    if (css) node.className = css;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // A text is a list of pieces; a piece that is a pair is a hurtful word: [plain, masked].
  function words(pieces) {
    const node = make("span", "text");
    node.dir = "auto";
    for (const piece of pieces) {
      if (typeof piece === "string") { node.append(piece); continue; }
      const button = make("button", "veiled", plain() ? piece[0] : piece[1]);
      button.type = "button";
      button.setAttribute("aria-pressed", plain() ? "true" : "false");
      [button.dataset.plain, button.dataset.masked] = piece;
      node.append(button);
    }
    return node;
  }

  function row(one) {
    const line = make("tr");
    const text = make("td", "post");
    text.append(words(one.t));
    const about = [functionalities[one.f], sets[one.s], one.g === null ? "" : targets[one.g], one.i];
    text.append(make("span", "about", about.filter(Boolean).join(" · ")));
    const expected = make("td", "name", one.e);
    expected.dataset.head = said.wordsExpected;
    line.append(text, expected);
    one.m.forEach(([probability, right], at) => {
      const cell = make("td", "number");
      cell.dataset.head = models[at];
      if (probability === null) cell.append(make("span", "right", said.wordsSilent));
      else cell.append(make("span", right === 1 ? "right" : "wrong", right === 1 ? said.wordsRight : right === 0 ? said.wordsWrong : "–"));
      if (probability !== null) cell.append(make("span", "about", probability.toLocaleString(document.documentElement.lang, { minimumFractionDigits: 3, maximumFractionDigits: 3 })));
      line.append(cell);
    });
    return line;
  }

  function fits(one, want) {
    const wrong = one.m.map(([, right]) => right === 0);
    if (want.result === "any" && !wrong.some(Boolean)) return false;
    if (want.result === "every" && !wrong.every(Boolean)) return false;
    if (want.result === "none" && wrong.some(Boolean)) return false;
    if ((want.result === "fixed" || want.result === "broken") && !one[want.result]) return false;
    if (want.result === "differ" && new Set(one.m.map(([, right]) => right)).size < 2) return false;
    if (want.result.startsWith("model-") && !wrong[Number(want.result.slice(6))]) return false;
    if (want.functionality !== "" && one.f !== Number(want.functionality)) return false;
    if (want.set !== "" && one.s !== Number(want.set)) return false;
    if (want.target !== "" && one.g !== (want.target === "none" ? null : Number(want.target))) return false;
    if (want.label !== "" && one.e !== want.label) return false;
    return !want.search || one.q.includes(want.search);
  }

  // The surest mistakes first: how far the model that is asked about, or any, was on the wrong side.
  function sureness(one, result) {
    const yes = labels[0];
    const answers = result.startsWith("model-") ? [one.m[Number(result.slice(6))]] : one.m;
    return Math.max(-1, ...answers.filter(([, right]) => right === 0).map(([p]) => (one.e === yes ? 1 - p : p)));
  }

  function page() {
    const part = chosen.slice(shown, shown + STEP);
    body.append(...part.map(row));
    shown += part.length;
    more.hidden = shown >= chosen.length;
    found.textContent = chosen.length
      ? said.wordsSome.replace("{found}", count(chosen.length)).replace("{all}", count(cases.length)).replace("{shown}", count(shown))
      : said.wordsNone;
  }

  function apply() {
    const want = Object.fromEntries(names.map((name) => [name, field(name).value]));
    want.search = want.search.trim().toLowerCase();
    chosen = cases.filter((one) => fits(one, want)).sort((a, b) => sureness(b, want.result) - sureness(a, want.result));
    shown = 0;
    body.replaceChildren();
    page();
  }

  for (const one of cases) one.q = one.t.map((piece) => (typeof piece === "string" ? piece : piece[0])).join("").toLowerCase();
  names.forEach((name) => field(name).addEventListener("input", apply));
  more.addEventListener("click", page);
  document.querySelectorAll(".heat button.cell").forEach((cell) =>
    cell.addEventListener("click", () => {
      field("result").value = models.length > 1 ? `model-${cell.dataset.model}` : "any";
      field("functionality").value = cell.dataset.functionality;
      field("set").value = cell.dataset.set;
      for (const name of ["target", "label", "search"]) field(name).value = "";
      apply();
      document.getElementById("cases").scrollIntoView();
      field("result").focus({ preventScroll: true });
    }),
  );
  apply();
})();
