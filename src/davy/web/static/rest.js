/* The page to rest on: the time on this device's clock, the minutes that are left, and the page anew when they are over. */

for (const place of document.querySelectorAll("[data-local-time]")) {
  const at = new Date(place.dateTime);
  const far = at - Date.now() > 12 * 3_600_000;
  place.textContent = at.toLocaleString(document.documentElement.lang, { ...(far && { weekday: "long" }), hour: "2-digit", minute: "2-digit" });
}

const left = document.querySelector("[data-countdown]");

function count() {
  const minutes = Math.ceil((new Date(left.dataset.countdown) - Date.now()) / 60_000);
  if (minutes <= 0) { location.reload(); return; }
  left.textContent = minutes === 1 ? left.dataset.one : left.dataset.many.replace("{n}", minutes);
}

if (left) { count(); setInterval(count, 5_000); }
