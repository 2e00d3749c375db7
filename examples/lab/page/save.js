// A race as a file: its picture as it is seen, and its events as JSON, which can be opened again.
import { h } from "./dom.js";
import { FIELDS } from "./fields.js";
import { patterns } from "./marks.js";
import { Race } from "./race.js";
import { LEASE } from "./story.js";
import { HOWS } from "./words.js";

const FORMAT = 1;
const MOST_BYTES = 64 * 1024 * 1024;
// More than any race has, and few enough to be drawn.
const MOST_EVENTS = 200_000;
const LONGEST_MS = 24 * 3600 * 1000;
const LONGEST_WORDS = 2000;
const COUNTS = ["duplicate_loads", "loads_at_once", "dropped_loads", "coalesced", "stale_answers", "old_answers", "backend_commands"];

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

const between = (min, max) => (value) => Number.isFinite(value) && value >= min && value <= max;
const whole = (max) => (value) => Number.isInteger(value) && value >= 0 && value <= max;
const among = (words) => (value) => words.includes(value);
const maybe = (good) => (value) => value === undefined || value === null || good(value);
const words = (value) => typeof value === "string" && value.length <= LONGEST_WORDS;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const figures = (value) => isObject(value) && Object.values(value).every(maybe(between(0, Number.MAX_SAFE_INTEGER)));
// The first name whose value is not good.
const wrong = (object, checks) => Object.keys(checks).find((name) => !checks[name](object[name]));

// What each field of a setting may be; any may be missing.
function settingChecks(lab) {
  const check = (field) => {
    const { min, max } = lab.bounds[field.name];
    if (field.flag) return (value) => typeof value === "boolean";
    if (field.choice) return among(lab.choices[field.name].map(({ value }) => value));
    const good = (value) => (field.decimal || Number.isInteger(value)) && between(min, max)(value);
    return field.unless ? maybe(good) : good;
  };
  return Object.fromEntries(FIELDS.map((field) => [field.name, (value) => value === undefined || check(field)(value)]));
}

// What the fields of each kind of event may be.
function eventChecks(lab, setting) {
  const [call, process, key] = ["callers", "processes", "keys"].map((name) => whole(lab.bounds[name].max - 1));
  const t = between(0, LONGEST_MS);
  const [number, time] = [whole(2 ** 32), maybe(t)];
  const value = maybe(number);
  const planned = (told) => isObject(told) && !wrong(told, { call, process, key, at: t });
  const calls = (told) => Array.isArray(told) && told.length <= lab.bounds.callers.max && told.every(planned);
  return new Map(Object.entries({
    begin: { setting: (told) => isObject(told) && !wrong(told, setting), calls },
    arrive: { t, call, process, key },
    answer: { t, call, how: among(Object.keys(HOWS)), value, age_ms: time, error: maybe(words) },
    load: { t, load: number, process, key, call: maybe(call) },
    load_end: { t, load: number, how: among(["value", "error", "dropped"]), value },
    lease: { t, process, key, grant: words, what: among(Object.keys(LEASE)), ttl_ms: time },
    entry: { t, process, key, what: among(["stored", "removed"]), value, soft_ms: time, hard_ms: time },
    fault: { t, what: words, process: maybe(process), key: maybe(key) },
    totals: { source_reads: number, ...Object.fromEntries(["answers", "latency_ms", "staleness_ms", "stats"].map((name) => [name, maybe(figures)])),
      ...Object.fromEntries(COUNTS.map((name) => [name, maybe(number)])) },
    end: {},
  }));
}

// Throws a sentence about the first thing that cannot be shown.
function check({ seed, sides, events }, lab) {
  const setting = settingChecks(lab);
  if (!whole(Number.MAX_SAFE_INTEGER)(seed)) throw new Error("its “seed” is no whole number that can be run again");
  if (events.length > MOST_EVENTS) throw new Error(`it has ${events.length} events, and no race has more than ${MOST_EVENTS}`);
  for (const told of sides) {
    const name = isObject(told) ? wrong(told, setting) : "sides";
    if (name) throw new Error(`“${name}” of a side is not what it may be`);
  }
  const kinds = eventChecks(lab, setting);
  events.forEach((event, i) => {
    const checks = isObject(event) && kinds.get(event.kind);
    if (!checks) throw new Error(`its event ${i + 1} is of no kind that there is`);
    const name = event.kind !== "end" && !whole(sides.length - 1)(event.side) ? "side" : wrong(event, checks);
    if (name) throw new Error(`“${name}” of its event ${i + 1}, “${event.kind}”, is not what it may be`);
  });
}

// Throws an `Error` with a sentence where the file is none of ours.
export async function open(file, lab) {
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
  try {
    check(told, lab);
  } catch (error) {
    throw new Error(`${file.name} is no race that can be shown: ${error.message}`);
  }
  const known = new Set(FIELDS.map(({ name }) => name));
  const sides = told.sides.map((setting) => Object.fromEntries(Object.entries(setting).filter(([name]) => known.has(name))));
  const race = new Race(told.seed, sides);
  try {
    for (const event of told.events) race.take(event);
  } catch {
    throw new Error(`${file.name} has events that cannot be read`);
  }
  if (!race.ended) throw new Error(`${file.name} ends in the middle of a race`);
  return race;
}
