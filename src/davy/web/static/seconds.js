/* Counts the seconds that somebody works on a page into its hidden fields [data-seconds]; idle time is left out. */

const IDLE = 60_000; // without a key, a touch or a move for this long, nobody is at work

let touched = performance.now();
let ticked = touched;
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"]) {
  addEventListener(kind, () => { touched = performance.now(); }, { passive: true, capture: true });
}
setInterval(() => {
  const now = performance.now();
  if (!document.hidden && now - touched < IDLE) {
    for (const field of document.querySelectorAll("[data-seconds]")) field.value = (Number(field.value) + Math.min(now - ticked, 2_000) / 1000).toFixed(1);
  }
  ticked = now;
}, 1_000);
