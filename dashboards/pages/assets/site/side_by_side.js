"use strict";
/* Points the link to two agents' trials at the night and the agents that are chosen. */
(() => {
  for (const place of document.querySelectorAll("[data-served]")) place.hidden = location.protocol === "file:";
  const form = document.querySelector("[data-side-by-side]");
  if (!form) return;
  const link = form.querySelector("a");
  const point = () => {
    const { night, left, right } = form.elements;
    link.href = `${night.value}?${[left, right].map((agent) => encodeURIComponent(agent.value)).join("&")}`;
  };
  form.addEventListener("input", point);
  form.addEventListener("submit", (event) => event.preventDefault());
  point();
})();
