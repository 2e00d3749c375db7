// The controls of one side or of two.
import { byId, h } from "./dom.js";
import { FIELDS, GROUPS, spoken } from "./fields.js";

const SIDES = ["a", "b"];
const id = (side, name) => `${side}-${name}`;
const unitOf = ({ unit }) => (unit ? ` in ${unit === "%" ? "percent" : "milliseconds"}` : "");

function select(field, lab) {
  return h("select", null, lab.choices[field.name].map(({ value }) => {
    const away = value === "redis" && !lab.redis;
    return h("option", { value, disabled: away }, away ? "redis (lab --redis URL)" : spoken(value));
  }));
}

function control(field, side, lab) {
  const shared = { id: id(side, field.name), name: field.name, "data-side": side };
  const input = field.flag ? h("input", { type: "checkbox" })
    : field.choice ? select(field, lab)
    : h("input", { type: "text", inputmode: field.decimal ? "decimal" : "numeric", autocomplete: "off", spellcheck: "false", placeholder: field.unless });
  for (const [name, value] of Object.entries(shared)) input.setAttribute(name, value);
  const range = lab.bounds[field.name];
  const bounds = range?.max === undefined ? "" : `${range.min.toLocaleString("en-GB")} to ${range.max.toLocaleString("en-GB")}${field.unit ? ` ${field.unit}` : ""}`;
  const choice = field.choice ? h("p", { class: "hint choice", id: `${shared.id}-choice` }) : null;
  const mistake = h("p", { class: "mistake", id: `${shared.id}-mistake`, hidden: true });
  const described = [field.hint && `hint-${field.name}`, choice?.id, mistake.id];
  input.setAttribute("aria-describedby", described.filter(Boolean).join(" "));
  if (bounds) input.setAttribute("title", bounds);
  return h("div", { class: `control side-${side}${field.flag ? " flag" : ""}` },
    h("span", { class: "box" }, input, field.unit ? h("span", { class: "unit", "aria-hidden": "true" }, field.unit) : null),
    choice, mistake);
}

function row(field, lab) {
  return h("div", { class: `field`, "data-field": field.name },
    h("label", { for: id("a", field.name) }, field.label, field.unit ? h("span", { class: "hidden" }, unitOf(field)) : null),
    h("div", { class: "pair" }, SIDES.map((side) => control(field, side, lab))),
    field.hint ? h("p", { class: "hint", id: `hint-${field.name}` }, field.hint) : null);
}

export class Form {
  constructor(lab, onchange) {
    this.lab = lab;
    this.compare = byId("compare");
    byId("fields").replaceChildren(...GROUPS.map(([name, fields]) => h("fieldset", null, h("legend", null, name), fields.map((field) => row(field, lab)))));
    byId("setting").addEventListener("input", () => { this.mark(); onchange(); });
    this.compare.addEventListener("change", () => {
      if (this.compare.checked) this.write("b", this.side("a"));
      this.mark();
      onchange();
    });
  }

  // Numbers are sent as numbers; what is none, as it was typed: the server says what is wrong with it.
  side(side) {
    return Object.fromEntries(FIELDS.map((field) => {
      const input = byId(id(side, field.name));
      if (field.flag) return [field.name, input.checked];
      if (field.choice) return [field.name, input.value];
      const typed = input.value.trim();
      if (typed === "" || (field.unless && typed === field.unless)) return [field.name, null];
      return [field.name, Number.isFinite(Number(typed)) ? Number(typed) : typed];
    }));
  }

  write(side, setting) {
    for (const field of FIELDS) {
      const input = byId(id(side, field.name));
      const value = setting[field.name] ?? null;
      if (field.flag) input.checked = value === true;
      else if (field.choice) this.choose(input, value);
      else input.value = value === null ? "" : String(value);
    }
  }

  // A choice that a link or a file names and that there is not, so that the server can say so.
  choose(input, value) {
    input.querySelector("[data-foreign]")?.remove();
    const known = [...input.options].some((option) => option.value === value);
    if (!known && value !== null) input.append(h("option", { value: String(value), "data-foreign": true }, String(value)));
    input.value = value === null ? input.options[0].value : String(value);
  }

  read() {
    const typed = byId("seed").value.trim();
    const seed = typed === "" ? 1 : Number.isSafeInteger(Number(typed)) ? Number(typed) : typed;
    return { seed, sides: this.compare.checked ? [this.side("a"), this.side("b")] : [this.side("a")] };
  }

  // What the server would not hear of as it was typed: scripts have no greater whole numbers.
  mistakes({ seed }) {
    if (typeof seed !== "string" || !/^\d+$/.test(seed)) return [];
    return [{ field: "seed", message: `seed must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}; this is ${seed}` }];
  }

  set({ seed, sides }) {
    byId("seed").value = String(seed ?? 1);
    this.compare.checked = sides.length > 1;
    sides.forEach((setting, i) => this.write(SIDES[i], setting));
    this.clear();
    this.mark();
  }

  // Shows side B or hides it, where it differs, and what the choices mean.
  mark() {
    for (const field of FIELDS.filter((field) => field.choice)) {
      for (const side of SIDES) {
        const input = byId(id(side, field.name));
        byId(`${input.id}-choice`).textContent = this.lab.choices[field.name].find(({ value }) => value === input.value)?.title ?? "";
      }
    }
    const two = this.compare.checked;
    document.body.classList.toggle("two", two);
    // Alone a field is called as its label is; beside another, with its side, too.
    for (const field of FIELDS) {
      for (const side of SIDES) byId(id(side, field.name)).setAttribute("aria-label", `${field.label}${unitOf(field)}${two ? `, side ${side.toUpperCase()}` : ""}`);
    }
    const [a, b] = [this.side("a"), this.side("b")];
    for (const { name } of FIELDS) byId(id("b", name)).closest(".field").classList.toggle("differs", two && a[name] !== b[name]);
  }

  clear() {
    for (const input of document.querySelectorAll("[aria-invalid]")) {
      input.removeAttribute("aria-invalid");
      const mistake = byId(`${input.id}-mistake`);
      mistake.hidden = true;
      mistake.textContent = "";
    }
  }

  // Shows each mistake at the field it names; gives those that name none.
  tell(mistakes) {
    const unplaced = [];
    let first = null;
    for (const { side, field, message } of mistakes) {
      const input = field === "seed" ? byId("seed") : byId(id(SIDES[side ?? 0], field));
      if (!input) {
        unplaced.push(message);
        continue;
      }
      input.setAttribute("aria-invalid", "true");
      const place = byId(`${input.id}-mistake`);
      place.textContent = message;
      place.hidden = false;
      first ??= input;
    }
    if (first) {
      byId("controls").open = true;
      first.focus();
    }
    return unplaced;
  }
}
