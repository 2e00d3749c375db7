// The controls: what can be set, in groups. Bounds, defaults and choices are the server's, and so is what a choice means.

import { plural } from "./dom.js";

// `unless` is what an empty field means, for those that may be left empty; `short` is what a field is called beside its value, `one`
// and `many` what it counts.
export const GROUPS = [
  ["Crowd", [
    { name: "callers", label: "Callers", one: "caller", hint: "Calls in all, over all processes and keys." },
    { name: "processes", label: "Processes", one: "process", many: "processes", hint: "Each with an engine and flights of its own." },
    { name: "keys", label: "Keys", one: "key" },
    { name: "arrivals_ms", label: "Arrive within", short: "within", unit: "ms", hint: "At random times, the same for both sides; 0 is all at once." },
  ]],
  ["Load", [
    { name: "load_ms", label: "A load takes", short: "load", unit: "ms" },
    { name: "load_spread", label: "Spread", short: "spread", unit: "%", hint: "How far a load may be off that, either way." },
    { name: "connections", label: "Connections", one: "connection", hint: "Loads that the source runs at once; more queue." },
    { name: "spawn", label: "spawn", flag: true, hint: "A load is a task of its own: it outlives its caller." },
  ]],
  ["Lease and TTLs", [
    { name: "lock_ttl_ms", label: "Lease TTL", short: "lease TTL", unit: "ms", unless: "auto", hint: "Between renewals. Empty: follows the p99 of the loads." },
    { name: "entry", label: "At the start", short: "entry at the start", choice: true },
    { name: "soft_ttl_ms", label: "Soft TTL", short: "soft TTL", unit: "ms" },
    { name: "ttl_ms", label: "Hard TTL", short: "hard TTL", unit: "ms" },
    { name: "early", label: "Early refresh β", short: "early refresh β", decimal: true, hint: "0 is off; higher refreshes sooner before the soft TTL." },
  ]],
  ["Policies", [
    { name: "losers", label: "Losers", short: "losers", choice: true },
    { name: "wait_ms", label: "Wait budget", short: "wait budget", unit: "ms", unless: "long enough", hint: "Empty: a live leader is never given up on." },
    { name: "on_timeout", label: "When it is over", short: "when it is over", choice: true },
  ]],
  ["Backend and fault", [
    { name: "backend", label: "Backend", short: "backend", choice: true },
    { name: "fault", label: "Fault", short: "fault", choice: true },
  ]],
];

export const FIELDS = GROUPS.flatMap(([, fields]) => fields);

// The defaults of all fields, as the server told them.
export const defaults = (lab) => Object.fromEntries(FIELDS.map(({ name }) => [name, lab.bounds[name]?.default ?? null]));

// A choice as it is shown: `leader_killed` is `leader killed`.
export const spoken = (value) => String(value).replaceAll("_", " ");

// A field and its value, as a heading tells them.
export function inWords(field, value) {
  if (field.flag) return value ? field.label : `no ${field.label}`;
  if (field.one) return plural(value ?? 0, field.one, field.many);
  const shown = value === null || value === undefined ? field.unless ?? "–" : field.choice ? spoken(value) : value.toLocaleString("en-GB");
  return `${field.short} ${shown}${value !== null && field.unit ? ` ${field.unit}` : ""}`;
}
