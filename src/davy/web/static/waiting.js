/* Somebody who waits for a post: the page asks again every few seconds while it is seen, and shows the post when it comes. */

const EVERY = 5000;
const sheet = document.querySelector("#sheet[data-again]");

async function ask() {
  if (document.hidden || document.querySelector("#sheet[data-again]") !== sheet) return;
  const answer = await fetch(sheet.dataset.again).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (page.querySelector("#sheet[data-again]") === null) location.assign(sheet.dataset.again);
}

if (sheet) setInterval(ask, EVERY);
