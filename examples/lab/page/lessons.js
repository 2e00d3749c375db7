// The lessons: settings that start at once.
import { h } from "./dom.js";

export function lessons(place, presets, start) {
  place.replaceChildren(...presets.map((preset, i) => h("li", null,
    h("button", { type: "button", class: "lesson", "data-preset": preset.name, onclick: () => start(preset) },
      h("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
      h("span", { class: "title" }, preset.title),
      h("span", { class: "hidden" }, `. ${preset.lesson}`)))));
}

// Marks the lesson that is shown, if one is, and says what it is about.
export function choose(place, about, preset) {
  // Between back ticks is code.
  about.replaceChildren(...(preset?.lesson ?? "").split("`").map((words, i) => (i % 2 ? h("code", null, words) : words)).filter(Boolean));
  const name = preset?.name;
  for (const button of place.querySelectorAll(".lesson")) {
    if (button.dataset.preset === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}
