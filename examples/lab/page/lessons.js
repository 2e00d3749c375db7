// The lessons: settings that start at once.
import { h } from "./dom.js";

export function lessons(place, presets, start) {
  place.replaceChildren(...presets.map((preset, i) => h("li", null,
    h("button", { type: "button", class: "lesson", "data-preset": preset.name, onclick: () => start(preset) },
      h("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
      h("span", { class: "title" }, preset.title),
      h("span", { class: "words" }, preset.lesson)))));
}

export function choose(place, name) {
  for (const button of place.querySelectorAll(".lesson")) {
    if (button.dataset.preset === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}
