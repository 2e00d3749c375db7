// A link that reproduces a setting: `#seed=7&a=callers:2000,losers:wait&b=losers:fail`, with what differs from the defaults alone.
// What a link says is put into the controls as it is; the server judges it.
import { FIELDS } from "./fields.js";

const AUTO = "auto";
const spell = (value) => (value === null ? AUTO : String(value));

function read(value) {
  if (value === AUTO) return null;
  if (value === "true" || value === "false") return value === "true";
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function side(setting, defaults) {
  return FIELDS.filter(({ name }) => name in setting && setting[name] !== defaults[name])
    .map(({ name }) => `${name}:${encodeURIComponent(spell(setting[name]))}`).join(",");
}

export function toHash({ seed, sides }, defaults) {
  return `#${[`seed=${seed}`, ...sides.map((setting, i) => `${"ab"[i]}=${side(setting, defaults)}`)].join("&")}`;
}

function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function parse(words, defaults) {
  const pairs = words.split(",").filter((pair) => pair.includes(":")).map((pair) => {
    const at = pair.indexOf(":");
    return [pair.slice(0, at), read(decoded(pair.slice(at + 1)))];
  });
  return { ...defaults, ...Object.fromEntries(pairs) };
}

// `null` where the hash is no setting.
export function fromHash(hash, defaults) {
  const parts = new Map(hash.replace(/^#/, "").split("&").map((part) => [part.split("=")[0], part.slice(part.indexOf("=") + 1)]));
  if (!parts.has("a")) return null;
  const sides = ["a", "b"].filter((name) => parts.has(name)).map((name) => parse(parts.get(name), defaults));
  return { seed: read(parts.get("seed") ?? "1"), sides };
}
