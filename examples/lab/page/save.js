// A race as a file: its picture as it is seen, and its events as JSON, which can be opened again.
import { h } from "./dom.js";
import { FIELDS } from "./fields.js";
import { patterns } from "./marks.js";
import { Race } from "./race.js";

const FORMAT = 1;
const MOST_BYTES = 64 * 1024 * 1024;

export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// The picture with its style in it; colours are written out, since few viewers know variables.
export async function svg(picture) {
  const style = await (await fetch("/page/timeline.css")).text();
  const probe = picture.parentElement.appendChild(h("i"));
  const rules = style.replace(/var\(--[a-z0-9-]+\)/g, (colour) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  const copy = picture.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [width, height] = [Number(copy.getAttribute("width")), Number(copy.getAttribute("height"))];
  copy.setAttribute("viewBox", `-16 -8 ${width + 32} ${height + 16}`);
  copy.setAttribute("width", width + 32);
  copy.setAttribute("height", height + 16);
  const ns = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const paper = ns("rect");
  for (const [name, value] of Object.entries({ x: -16, y: -8, width: width + 32, height: height + 16, class: "paper" })) paper.setAttribute(name, value);
  const sheet = ns("style");
  sheet.textContent = rules;
  copy.prepend(sheet, patterns(), paper);
  return new XMLSerializer().serializeToString(copy);
}

export const json = (race) => JSON.stringify({ lab: FORMAT, seed: race.seed, sides: race.sides.map((side) => side.setting), events: race.events });

// Throws an `Error` with a sentence where the file is none of ours.
export async function open(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than any race`);
  let told;
  try {
    told = JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON`);
  }
  if (told?.lab !== FORMAT || !Array.isArray(told.sides) || !Array.isArray(told.events) || ![1, 2].includes(told.sides.length)) {
    throw new Error(`${file.name} is no race that was saved here: it should have "lab": ${FORMAT}, "sides" and "events"`);
  }
  const known = new Set(FIELDS.map(({ name }) => name));
  const sides = told.sides.map((setting) => Object.fromEntries(Object.entries(setting ?? {}).filter(([name]) => known.has(name))));
  const race = new Race(told.seed, sides);
  try {
    for (const event of told.events) race.take(event);
  } catch {
    throw new Error(`${file.name} has events that cannot be read`);
  }
  if (!race.ended) throw new Error(`${file.name} ends in the middle of a race`);
  return race;
}
