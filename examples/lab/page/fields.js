// The controls: what can be set, in groups, with a name and a sentence for each choice. Bounds and defaults are the server's.

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
    { name: "spawn", label: "spawn", flag: true, hint: "A load is a task of its own: it outlives its caller." },
  ]],
  ["Lease and TTLs", [
    { name: "lock_ttl_ms", label: "Lease TTL", unit: "ms", unless: "auto", hint: "Between renewals. Empty: follows the p99 of the loads." },
    { name: "entry", label: "Entry at the start", choices: {
      none: ["none", "Nothing is stored."], fresh: ["fresh", "Stored just now."], stale: ["stale", "Past its soft TTL."] } },
    { name: "soft_ttl_ms", label: "Soft TTL", unit: "ms" },
    { name: "ttl_ms", label: "Hard TTL", unit: "ms" },
    { name: "early", label: "Early refresh β", step: "any", hint: "0 is off; higher refreshes sooner before the soft TTL." },
  ]],
  ["Policies", [
    { name: "losers", label: "Losers", choices: {
      stale: ["stale", "A stale copy, else wait."], wait: ["wait", "Wait, even if there is a stale copy."], default: ["default", "A stale copy, else the default."],
      fail: ["fail", "A stale copy, else an error."] } },
    { name: "wait_ms", label: "Wait budget", unit: "ms", unless: "long enough", hint: "Empty: a live leader is never given up on." },
    { name: "on_timeout", label: "When it is used up", choices: {
      load: ["load", "One load for each process."], default: ["default", "The function’s default."], fail: ["fail", "An error."] } },
  ]],
  ["Backend and fault", [
    { name: "backend", label: "Backend", choices: {
      memory: ["memory", "Each process has its own store."], shared: ["shared", "One store for all processes."], redis: ["redis", "Redis, and processes of the system."],
      none: ["none", "No protection: every call loads."] } },
    { name: "fault", label: "Fault", choices: {
      none: ["none", "Nothing goes wrong."], leader_killed: ["leader killed", "Who loads is gone, in the middle of it."],
      leader_paused: ["leader paused", "Who loads stands still past its lease."], failing_load: ["failing load", "The source answers with an error."],
      invalidate: ["invalidate", "The key is invalidated during the load."], backend_stopped: ["backend stopped", "The store is away for a while."],
      no_recheck: ["no re-check", "Acquire does not look at the entry again. Shared only."], plain_del: ["plain DEL", "Release deletes the lease, whoever has it. Shared only."],
      no_renewal: ["no renewal", "The lease is not renewed. Shared only."] } },
  ]],
];

export const FIELDS = GROUPS.flatMap(([, fields]) => fields);

// The defaults of all fields, as the server told them.
export const defaults = (lab) => Object.fromEntries(FIELDS.map(({ name }) => [name, lab.bounds[name]?.default ?? null]));
