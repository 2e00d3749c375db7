// The read-outs of each side, the better one marked, and why in words.
import { h, plural } from "./dom.js";
import { ms } from "./scale.js";
import { HOWS, howOf } from "./words.js";
import { swatch } from "./marks.js";

const count = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en-GB"));
const failed = (totals) => totals.answers?.failed ?? 0;
const dropped = (totals) => totals.answers?.dropped ?? 0;

const fewer = (n, one, many = `${one}s`) => `${count(n)} fewer ${n === 1 ? one : many}`;

// Less is better, unless a row is neutral. `near` is the difference below which two are alike, `what` is what a side may have none of,
// and a `price` is named last: it is paid for the rest.
const ROWS = [
  { id: "source_reads", label: "Source reads", of: (t) => t.source_reads, why: (n) => fewer(n, "read of the source", "reads of the source") },
  { id: "duplicate_loads", label: "Duplicate loads", of: (t) => t.duplicate_loads, why: (n) => fewer(n, "load beside another", "loads beside another") },
  { id: "loads_at_once", label: "Loads at once", of: (t) => t.loads_at_once, why: (n) => `${fewer(n, "load")} of one key at the same time` },
  { id: "coalesced", label: "Coalesced calls", of: (t) => t.coalesced, neutral: true },
  { id: "failed", label: "Errors", of: failed, why: (n) => `${fewer(n, "caller")} got an error` },
  { id: "dropped", label: "Never answered", of: dropped, why: (n) => `${fewer(n, "caller")} left without an answer` },
  { id: "stale_answers", label: "Stale answers", of: (t) => t.stale_answers, why: (n) => fewer(n, "stale copy", "stale copies") },
  { id: "old_answers", label: "Outdated answers", of: (t) => t.old_answers, why: (n) => `${fewer(n, "caller")} got a row that had been changed before they asked` },
  { id: "staleness_ms.p50", label: "Staleness p50", of: (t) => t.staleness_ms?.p50, time: true, neutral: true, what: "stale copy" },
  { id: "staleness_ms.max", label: "Staleness at most", of: (t) => t.staleness_ms?.max, time: true, near: 5, what: "stale copy", why: (n) => `the oldest copy is ${ms(n)} younger` },
  { id: "latency_ms.p50", label: "Latency p50", of: (t) => t.latency_ms?.p50, time: true, near: 5, what: "answer", why: (n) => `half of the callers have their answers ${ms(n)} sooner` },
  { id: "latency_ms.p99", label: "Latency p99", of: (t) => t.latency_ms?.p99, time: true, near: 5, what: "answer", why: (n) => `99 of 100 callers have their answers ${ms(n)} sooner` },
  { id: "latency_ms.max", label: "Slowest answer", of: (t) => t.latency_ms?.max, time: true, near: 5, what: "answer", why: (n) => `the slowest answer comes ${ms(n)} sooner` },
  { id: "backend_commands", label: "Backend commands", of: (t) => t.backend_commands, price: true, why: (n) => fewer(n, "command") },
];

const none = (value) => value === null || value === undefined;

// Which side is better: 0, 1, or `null`.
function better(row, [a, b]) {
  if (row.neutral || none(a) || none(b)) return null;
  const near = row.near ? Math.max(row.near, 0.05 * Math.max(a, b)) : 0;
  return Math.abs(a - b) <= near ? null : a < b ? 0 : 1;
}

function reason(row, values, best) {
  if (best !== null) return `${"AB"[best]}: ${row.why(Math.abs(values[0] - values[1]))}`;
  if (values.every(none)) return "";
  if (values.some(none)) return `${"AB"[values.findIndex(none)]} has no ${row.what ?? "figure"}`;
  if (row.neutral) return "";
  return values[0] === values[1] ? "the same" : "about the same";
}

function cell(row, value, side, best) {
  const shown = row.time ? ms(value) : count(value);
  return h("td", { "data-readout": row.id, "data-side": side, "data-value": value ?? "" },
    best ? h("span", { class: "best" }, shown, " ✓", h("span", { class: "hidden" }, " better")) : shown);
}

function table(totals) {
  const two = totals.length > 1;
  const body = ROWS.filter((row) => totals.some((t) => row.of(t) !== undefined)).map((row) => {
    const values = totals.map((t) => row.of(t));
    const best = two ? better(row, values) : null;
    return h("tr", null, h("th", { scope: "row" }, row.label), values.map((value, side) => cell(row, value, side, best === side)),
      two ? h("td", { class: "why" }, reason(row, values, best)) : null);
  });
  return h("table", { class: "readouts" }, h("caption", { class: "hidden" }, "Read-outs"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Read-out"), totals.map((_, i) => h("th", { scope: "col" }, two ? `Side ${"AB"[i]}` : "This race")), two ? h("th", { scope: "col" }, "Better, and why") : null)),
    h("tbody", null, body));
}

function statistics(totals) {
  const names = Object.keys(Object.assign({}, ...totals.map((t) => t.stats ?? {})));
  return h("details", { class: "statistics" }, h("summary", null, "The engine’s own statistics"),
    h("p", { class: "hint" }, "SingleFlight::statistics(), summed over the processes."),
    h("table", { class: "readouts small" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Statistic"), totals.map((_, i) => h("th", { scope: "col" }, totals.length > 1 ? `Side ${"AB"[i]}` : "This race")))),
      h("tbody", null, names.map((name) => h("tr", null, h("th", { scope: "row" }, h("code", null, name)),
        totals.map((t, side) => h("td", { "data-stat": name, "data-side": side }, typeof t.stats?.[name] === "number" ? count(t.stats[name]) : String(t.stats?.[name] ?? "–"))))))));
}

// How the callers were answered by the time `t`: the legend of the timeline, with numbers.
export function answers(race, t = Infinity) {
  const by = (time) => time !== null && time <= t;
  const sides = race.sides.map((side) => {
    const counts = {};
    for (const call of side.calls.values()) {
      const how = by(call.answered) ? call.how : by(call.arrived) ? "pending" : null;
      if (how) counts[how] = (counts[how] ?? 0) + 1;
    }
    return counts;
  });
  const seen = Object.keys(HOWS).filter((how) => sides.some((counts) => counts[how]));
  return h("ul", { class: "answers" }, seen.map((how) => h("li", { title: howOf(how).means }, swatch(how), h("span", null, howOf(how).word),
    sides.map((counts, i) => h("b", { "data-answers": how, "data-side": i }, race.sides.length > 1 ? h("i", null, "AB"[i]) : null, count(counts[how] ?? 0))))));
}

export function readouts(place, race) {
  const totals = race.sides.map((side) => side.totals);
  if (totals.some((t) => !t)) {
    place.replaceChildren();
    return;
  }
  place.replaceChildren(h("h2", null, "Read-outs"), table(totals), statistics(totals));
}

function one(side) {
  const t = side.totals;
  const parts = [`${plural(side.calls.size, "caller")}, ${plural(t.source_reads, "source read")}`];
  if (t.latency_ms) parts.push(`the slowest answer after ${ms(t.latency_ms.max)}`);
  if (t.stale_answers) parts.push(plural(t.stale_answers, "stale answer"));
  if (failed(t)) parts.push(plural(failed(t), "error"));
  if (dropped(t)) parts.push(`${count(dropped(t))} never answered`);
  if (t.duplicate_loads) parts.push(plural(t.duplicate_loads, "duplicate load"));
  return parts.join(", ");
}

// How many times as much the worse side has; less than one call or one millisecond counts as one.
const ratio = (row, good, bad) => (row.price ? 0 : bad / Math.max(good, 1));

// What the sides differ in, with the figures: what they differ in most comes first.
function differences(race) {
  const said = [[], []];
  for (const row of ROWS) {
    const values = race.sides.map((side) => row.of(side.totals));
    const best = better(row, values);
    if (best === null) continue;
    const [good, bad] = [values[best], values[1 - best]];
    const [less, more] = [good, bad].map((value) => (row.time ? ms(value) : count(value)));
    said[best].push({ times: ratio(row, good, bad), side: "AB"[best], words: `${row.label.toLowerCase()} (${less} against ${more})` });
  }
  for (const list of said) list.sort((a, b) => b.times - a.times);
  return said.filter((list) => list.length).sort(([a], [b]) => b.times - a.times)
    .map((list) => `${list[0].side} is better in ${new Intl.ListFormat("en-GB").format(list.map(({ words }) => words))}.`);
}

// The result in sentences: one for each side, and what they differ in.
export function verdict(race) {
  const [a, b] = race.sides;
  if (!b) return [`${one(a)}.`];
  const differ = differences(race);
  return [`A: ${one(a)}.`, `B: ${one(b)}.`, differ.length ? differ.join(" ") : "Neither is better."];
}
