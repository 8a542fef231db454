"use strict";
/* A click on a place of the record takes it as the place of the evidence. */
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-place]");
  if (!button) return;
  document.getElementById("place").value = button.dataset.place;
});
