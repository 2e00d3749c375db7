// A link that reproduces a setting: `#seed=7&a=callers:2000,losers:wait&b=losers:fail`, with what differs from the defaults alone.
// What a link says is put into the controls as it is; the server judges it. What cannot be put there is told.
import { FIELDS } from "./fields.js";

const AUTO = "auto";
const PARTS = ["seed", "a", "b"];
const spell = (value) => encodeURIComponent(value === null ? AUTO : String(value));

function side(setting, defaults) {
  return FIELDS.filter(({ name }) => name in setting && setting[name] !== defaults[name])
    .map(({ name }) => `${name}:${spell(setting[name])}`).join(",");
}

export function toHash({ seed, sides }, defaults) {
  return `#${[`seed=${spell(seed)}`, ...sides.map((setting, i) => `${"ab"[i]}=${side(setting, defaults)}`)].join("&")}`;
}

// A value as it was typed; `null` where it cannot be one.
function decoded(words) {
  try {
    return decodeURIComponent(words);
  } catch {
    return null;
  }
}

function read(value, field) {
  if (value === AUTO && field.unless) return null;
  if (field.flag && (value === "true" || value === "false")) return value === "true";
  return !field.choice && Number.isFinite(Number(value)) ? Number(value) : value;
}

// Before and after the first of these signs.
const split = (words, sign) => (words.includes(sign) ? [words.slice(0, words.indexOf(sign)), words.slice(words.indexOf(sign) + 1)] : [words, null]);

function parse(words, defaults, mistake) {
  const said = {};
  for (const pair of words.split(",").filter(Boolean)) {
    const [name, told] = split(pair, ":");
    const field = FIELDS.find((field) => field.name === name);
    const value = told === null ? null : decoded(told);
    if (!field) mistake(`a setting has no “${name}”`);
    else if (name in said) mistake(`“${name}” is said twice of one side`);
    else if (!value) mistake(`“${name}” has no value that can be read`);
    else if (field.flag && !["true", "false"].includes(value)) mistake(`“${name}” must be true or false; this is ${value}`);
    else said[name] = read(value, field);
  }
  return { ...defaults, ...said };
}

// What the link says, and in `mistakes` what of it means nothing; `null` where the hash is no setting, but a place on the page.
export function fromHash(hash, defaults) {
  if (!hash.includes("=")) return null;
  const mistakes = [];
  const parts = new Map();
  for (const part of hash.replace(/^#/, "").split("&").filter(Boolean)) {
    const [name, words] = split(part, "=");
    if (!PARTS.includes(name) || words === null) mistakes.push(`a link has no “${name}”`);
    else if (parts.has(name)) mistakes.push(`“${name}=” is there twice`);
    else parts.set(name, words);
  }
  if (!parts.has("a")) mistakes.push("the first side, “a=”, is missing");
  const sides = PARTS.slice(1).filter((name) => name === "a" || parts.has(name))
    .map((name) => parse(parts.get(name) ?? "", defaults, (words) => mistakes.push(words)));
  const seed = decoded(parts.get("seed") ?? "1");
  if (!seed) mistakes.push("“seed” has no value that can be read");
  return { seed: seed || "1", sides, mistakes };
}
