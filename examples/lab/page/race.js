// A race as it is known so far: what the events of each side add up to.

class Side {
  constructor() {
    this.setting = null;
    this.calls = new Map();
    this.loads = new Map();
    this.grants = new Map();
    this.held = [];
    this.entries = [];
    this.faults = [];
    this.totals = null;
  }

  take(event) {
    this[event.kind]?.(event);
  }

  begin({ setting, calls }) {
    this.setting = setting;
    for (const call of calls) this.calls.set(call.call, { ...counted(call), arrived: null, answered: null, how: null });
  }

  call(event) {
    if (!this.calls.has(event.call)) {
      this.calls.set(event.call, { process: 1, key: 1, at: event.t, arrived: null, answered: null, how: null, ...event });
    }
    return this.calls.get(event.call);
  }

  arrive(event) {
    this.call(event).arrived = event.t;
  }

  answer(event) {
    const { t, how, value, age_ms, error } = event;
    const call = this.call(event);
    // Those of a process that was killed may never have come.
    Object.assign(call, { arrived: call.arrived ?? t, answered: t, how, value, age_ms, error });
  }

  load({ t, load, process, key, call }) {
    this.loads.set(load, { load, process, key, call, start: t, end: null, how: null });
    const caller = call === undefined || call === null ? null : this.calls.get(call);
    if (caller) caller.led = true;
  }

  load_end({ t, load, how, value }) {
    Object.assign(this.loads.get(load) ?? {}, { end: t, how, value });
  }

  lease({ t, process, key, grant, what, ttl_ms }) {
    const id = `${key}/${grant}`;
    if (what === "held") {
      this.held.push({ t, process, key });
      return;
    }
    let lease = this.grants.get(id);
    if (!lease) {
      lease = { process, key, grant, start: t, until: Infinity, end: null, how: null, renewals: [] };
      this.grants.set(id, lease);
    }
    if (what === "granted") lease.until = t + (ttl_ms ?? Infinity);
    else if (what === "renewed") {
      lease.renewals.push({ t, until: t + (ttl_ms ?? 0) });
      if (ttl_ms) lease.until = Math.max(lease.until === Infinity ? 0 : lease.until, t + ttl_ms);
    } else {
      lease.ends ??= [];
      lease.ends.push({ t, what });
      if (lease.end === null) Object.assign(lease, { end: Math.min(t, lease.until), how: what });
    }
  }

  entry({ t, process: by, key, what, value, soft_ms, hard_ms }) {
    // In memory each process has a store of its own; else it does not matter who stored it.
    const process = this.setting?.backend === "memory" ? by : null;
    const of = (entry) => entry.key === key && entry.process === process && entry.end === null;
    for (const entry of this.entries.filter(of)) Object.assign(entry, { end: Math.min(t, entry.hard), removed: what === "removed" });
    if (what !== "stored") return;
    const hard = t + (hard_ms ?? Infinity);
    this.entries.push({ process, key, value, start: t, soft: Math.min(t + (soft_ms ?? Infinity), hard), hard, end: null });
  }

  fault({ t, what, process, key }) {
    this.faults.push({ t, what, process, key });
  }
}

// Processes and keys are counted from one where they are shown.
function counted(event) {
  const { process, key } = event;
  const told = { ...event };
  if (Number.isInteger(process)) told.process = process + 1;
  if (Number.isInteger(key)) told.key = key + 1;
  return told;
}

export class Race {
  constructor(seed, settings) {
    this.seed = seed;
    this.settings = settings;
    this.sides = settings.map((setting) => Object.assign(new Side(), { setting }));
    this.events = [];
    this.told = [];
    this.last = 0;
    this.ended = false;
  }

  take(event) {
    this.events.push(event);
    if (event.kind === "end") {
      this.ended = true;
      return;
    }
    const side = this.sides[event.side];
    if (!side) return;
    if (event.kind === "totals") side.totals = event;
    else {
      const told = counted(event);
      this.told.push(told);
      side.take(told);
    }
    if (!["totals", "begin"].includes(event.kind)) this.last = Math.max(this.last, event.t);
  }
}
