"use strict";
const filter = document.getElementById("filter");
const entries = Array.from(document.querySelectorAll("[data-words]"));
const groups = Array.from(document.querySelectorAll("[data-group]"));

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of entries) {
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
  }
  for (const group of groups) {
    group.hidden = !group.querySelector("[data-words]:not([hidden])");
  }
}

filter.hidden = false;
filter.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== filter) {
    event.preventDefault();
    filter.focus();
  }
});
