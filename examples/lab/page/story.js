// The race in words: moments in their order, each of them what happened within a millisecond.
import { plural } from "./dom.js";
import { howOf } from "./words.js";

const WITHIN = 1;

export const LEASE = {
  granted: (who) => `${who} is granted the lease`,
  renewed: (who) => `${who} renews the lease`,
  published: (who) => `${who} publishes, which ends the lease and wakes who waits`,
  refused: (who) => `the publish of ${who} is refused: its token is not the current one`,
  abandoned: (who) => `${who} abandons the lease`,
  deleted: (who) => `${who} deletes a lease that is not its own`,
  lost: (who) => `${who} loses the lease`,
  held: (who) => `${who} asks for the lease and is told that it is held`,
};

const LOAD_END = { value: "ends with", error: "fails", dropped: "is dropped" };

// What may be told together has the same `id`; `words` gets how many there were.
function moment(event, side) {
  const { processes = 1, keys = 1 } = side.setting ?? {};
  const who = processes > 1 ? `process ${event.process}` : "the process";
  const on = keys > 1 && event.key !== undefined ? `, key ${event.key}` : "";
  switch (event.kind) {
    case "arrive":
      return { id: "arrive", words: (n) => `${plural(n, "caller arrives", "callers arrive")}` };
    case "answer":
      return { id: `answer ${event.how} ${event.value}`, words: (n) => `${plural(n, "caller is answered", "callers are answered")}: ${howOf(event.how).word}${event.value === undefined || event.value === null ? "" : `, value v${event.value}`}` };
    case "load":
      return { id: `load ${event.process}`, key: true, words: (n) => `${plural(n, "load begins", "loads begin")}${processes > 1 ? ` in process ${event.process}` : ""}${n > 1 ? "" : on}` };
    case "load_end":
      return { id: `end ${event.how} ${event.value}`, key: true, words: (n) => `${plural(n, "load")} ${n > 1 ? { value: "end with", error: "fail", dropped: "are dropped" }[event.how] : LOAD_END[event.how] ?? event.how}${event.how === "value" ? ` value v${event.value}` : ""}${n > 1 ? "" : on}` };
    case "lease":
      return { id: `lease ${event.what} ${event.process}`, key: event.what !== "held", words: (n) => `${LEASE[event.what]?.(who) ?? `${event.what}: ${who}`}${n > 1 ? `, ${n} times` : on}` };
    case "entry":
      return { id: `entry ${event.what} ${event.value}`, key: true, words: (n) => (n > 1 ? `${plural(n, "entry is", "entries are")} ${event.what}` : `the entry is ${event.what}${event.what === "stored" ? `: value v${event.value}` : ""}${on}`) };
    case "fault":
      return { id: `fault ${event.what}`, key: true, fault: true, words: () => `fault: ${event.what}` };
    default:
      return null;
  }
}

// `[{t, side, words, key, fault}]`; `key` marks what a replay steps by.
export function story(race) {
  const told = [];
  const open = new Map();
  for (const event of [...race.told].sort((a, b) => (a.t ?? 0) - (b.t ?? 0))) {
    const side = race.sides[event.side];
    const made = side && moment(event, side);
    if (!made) continue;
    const id = `${event.side} ${made.id}`;
    const last = open.get(id);
    if (last && event.t - last.until <= WITHIN) {
      last.n += 1;
      last.until = event.t;
      continue;
    }
    const entry = { t: event.t, until: event.t, side: event.side, n: 1, ...made };
    open.set(id, entry);
    told.push(entry);
  }
  const moments = told.map(({ t, side, n, words, key, fault }) => ({ t, side, words: words(n), key: Boolean(key), fault: Boolean(fault) }));
  return moments.length > 400 ? moments.filter((moment) => moment.key).slice(0, 400) : moments;
}

// The times to step by: the key moments and the first arrival and last answer, once each.
export function steps(race, moments) {
  const times = [0, ...moments.filter((moment) => moment.key).map((moment) => moment.t), race.last].sort((a, b) => a - b);
  return times.filter((t, i) => i === 0 || t - times[i - 1] > 0.15);
}
