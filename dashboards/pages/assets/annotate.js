"use strict";
/* Keys for the form: 0 to 9, t for 10, u for "cannot tell", Enter saves, p and n move. */
let sent = false;
addEventListener("pageshow", () => { sent = false; });
document.addEventListener("submit", () => { sent = true; });
document.addEventListener("keydown", (event) => {
  // A key that is meant for the next leaf must not change this one.
  if (sent || event.ctrlKey || event.altKey || event.metaKey) return;
  const form = document.getElementById("score");
  const value = event.key === "t" ? "10" : event.key === "u" ? "unknown" : event.key;
  const choice = form.querySelector(`input[type=radio][value="${CSS.escape(value)}"]`);
  const link = { p: "previous", n: "next" }[event.key];
  if (choice) {
    choice.checked = true;
    choice.focus({ preventScroll: true });
  } else if (link) {
    const target = document.getElementById(link);
    if (target) target.click();
  } else if (event.key === "Enter" && form.querySelector("input[type=radio]:checked")) {
    if (event.target.closest("a, summary, audio, video")) return;
    form.requestSubmit();
  } else {
    return;
  }
  event.preventDefault();
});
