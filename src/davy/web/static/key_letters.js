/* Which letter a command has: the usual one, or the one that this person chose on their account's page. `commands` is an
   object with the usual letters as its keys. */

const root = document.documentElement;
const letters = JSON.parse(root.dataset.letters ?? "{}"); // usual letter → chosen one
const letterOf = (usual) => letters[usual] ?? usual;

/* Whether this person wants no single keys at all (WCAG 2.1.4). */
export const keysAreOff = root.classList.contains("no-keys");

export const usualOf = (commands, key) => Object.keys(commands).find((usual) => letterOf(usual) === key);

/* Labels are chosen by digits, then by every letter that is no command. */
export function choosingKeys(commands) {
  const free = [..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !usualOf(commands, letter));
  return `123456789${free.join("")}0`;
}

/* Hints show the letters that this person chose. */
export function showLetters(commands) {
  for (const hint of [...document.querySelectorAll("#sheet kbd, #guide kbd, #keys kbd")].filter((it) => !it.closest(".option"))) {
    hint.dataset.usual ??= hint.textContent;
    if (Object.hasOwn(commands, hint.dataset.usual)) hint.textContent = letterOf(hint.dataset.usual);
  }
}
