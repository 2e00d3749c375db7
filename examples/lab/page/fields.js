// The controls: what can be set, in groups. Bounds, defaults and choices are the server's, and so is what a choice means.

// `unless` is what an empty field means, for those that may be left empty.
export const GROUPS = [
  ["Crowd", [
    { name: "callers", label: "Callers", hint: "Calls in all, over all processes and keys." },
    { name: "processes", label: "Processes", hint: "Each with an engine and flights of its own." },
    { name: "keys", label: "Keys" },
    { name: "arrivals_ms", label: "Arrive within", unit: "ms", hint: "At random times, the same for both sides; 0 is all at once." },
  ]],
  ["Load", [
    { name: "load_ms", label: "A load takes", unit: "ms" },
    { name: "load_spread", label: "Spread", unit: "%", hint: "How far a load may be off that, either way." },
    { name: "connections", label: "Connections", hint: "Loads that the source runs at once; more queue." },
    { name: "spawn", label: "spawn", flag: true, hint: "A load is a task of its own: it outlives its caller." },
  ]],
  ["Lease and TTLs", [
    { name: "lock_ttl_ms", label: "Lease TTL", unit: "ms", unless: "auto", hint: "Between renewals. Empty: follows the p99 of the loads." },
    { name: "entry", label: "At the start", choice: true },
    { name: "soft_ttl_ms", label: "Soft TTL", unit: "ms" },
    { name: "ttl_ms", label: "Hard TTL", unit: "ms" },
    { name: "early", label: "Early refresh β", decimal: true, hint: "0 is off; higher refreshes sooner before the soft TTL." },
  ]],
  ["Policies", [
    { name: "losers", label: "Losers", choice: true },
    { name: "wait_ms", label: "Wait budget", unit: "ms", unless: "long enough", hint: "Empty: a live leader is never given up on." },
    { name: "on_timeout", label: "When it is over", choice: true },
  ]],
  ["Backend and fault", [
    { name: "backend", label: "Backend", choice: true },
    { name: "fault", label: "Fault", choice: true },
  ]],
];

export const FIELDS = GROUPS.flatMap(([, fields]) => fields);

// The defaults of all fields, as the server told them.
export const defaults = (lab) => Object.fromEntries(FIELDS.map(({ name }) => [name, lab.bounds[name]?.default ?? null]));

// A choice as it is shown: `leader_killed` is `leader killed`.
export const spoken = (value) => String(value).replaceAll("_", " ");
