// What the store and the source are seen to do: loads, leases and entries, a row for each key.
import { s } from "./dom.js";
import { bundle, stack } from "./bundle.js";
import { patternOf, shape } from "./marks.js";
import { exactly, ms } from "./scale.js";

const CHAR = 6.3;
const DENSE = 3;
// Where there are more rows of loads than this, they are lower.
const LOW = 8;

export const text = (x, y, words, more = {}) => s("text", { x: x.toFixed(1), y: y.toFixed(1), ...more }, words);
const title = (words) => s("title", null, words);
const many = (setting) => (setting?.processes ?? 1) > 1;
const who = (side, process) => (many(side.setting) ? `process ${process}` : "");

function label(words, x1, x2, y) {
  return words.length * CHAR + 8 < x2 - x1 ? text(x1 + 5, y + 4, words, { class: "in" }) : null;
}

// How a load ended: its mark, and the word for it.
const ENDS = { value: ["dot", "value"], error: ["cross", "error"], dropped: ["dash", "dropped"] };

function loadBar(side, scale, bar, y, height) {
  const x1 = scale.x(bar.start);
  const x2 = Math.max(scale.x(bar.end ?? scale.span), x1 + 1.5);
  const [shapeName, word] = ENDS[bar.how] ?? [null, "running"];
  const value = bar.how === "value" && bar.value !== undefined ? ` v${bar.value}` : "";
  const named = (value) => (bar.count > 1 ? `${bar.count} loads` : `load ${who(side, bar.process)}${value}`.replace(/ +/g, " "));
  const ended = ends(scale, bar);
  const last = bar.end === null ? "…" : `${ended.length > 1 ? `${exactly(ended[0])} … ` : ""}${exactly(bar.end)}`;
  const told = `${bar.count > 1 ? `${bar.count} loads` : `load, process ${bar.process}`}: ${exactly(bar.start)} to ${last}, ${word}${value}`;
  const words = height > 11 ? label(named(value), x1, x2 - 6, y + height / 2) : null;
  const group = s("g", null, title(told), s("rect", { x: x1.toFixed(1), y, width: (x2 - x1).toFixed(1), height, rx: 2, class: "bar" }),
    shapeName ? ended.map((t) => s("g", { class: "end", transform: `translate(${Math.max(scale.x(t), x1 + 1.5).toFixed(1)} ${y + height / 2})` }, shape(shapeName, 4))) : null, words);
  // How it ends, and with what, is not known before.
  const see = (t) => {
    const over = bar.end !== null && t >= bar.end;
    group.setAttribute("class", `load load-${over ? bar.how : "running"}`);
    if (words) words.textContent = named(over ? value : "");
  };
  see(Infinity);
  return Object.assign(group, { asOf: see });
}

// When the loads of a bar ended, where that can be told apart.
function ends(scale, bar) {
  const ends = [];
  for (const end of bar.items.map((item) => item.end).filter((end) => end !== null).sort((a, b) => b - a)) {
    if (ends.length === 0 || ends[0] - end > scale.time(8)) ends.unshift(end);
  }
  return ends;
}

// Loads that end at different times are told apart while there is room.
function source(side, scale, loads, y, height) {
  const bars = bundle(loads.map((load) => ({ ...load, kind: `${load.how}${load.process}` })), scale.time(2), 24);
  const most = height > 11 ? 2 * LOW : LOW;
  const merged = bars.length > LOW ? bundle(loads.map((load) => ({ ...load, kind: load.how })), scale.time(8), most) : bars;
  const rows = stack(merged);
  const each = rows > LOW ? Math.min(height, 12) : height;
  return { nodes: merged.map((bar) => loadBar(side, scale, bar, y + bar.row * (each + 2), each)), height: rows * (each + 2) };
}

const LEASE_ENDS = { published: "published", refused: "refused", abandoned: "abandoned", lost: "lost", deleted: "deleted by another" };

function leaseBand(side, scale, lease, y, height) {
  const end = Math.min(lease.end ?? lease.until, scale.span);
  const x1 = scale.x(lease.start);
  const x2 = Math.max(scale.x(end), x1 + 1.5);
  const ran = lease.how === null && lease.until <= scale.span;
  const how = lease.how ? LEASE_ENDS[lease.how] ?? lease.how : ran ? "ran out" : "held";
  const late = (lease.ends ?? []).filter(({ t }) => t > end + 0.01);
  const named = (renewals) => `${who(side, lease.process)}${renewals ? ` · renewed ${renewals}×` : ""}`.replace(/^ · /, "");
  const told = `lease of process ${lease.process}, grant ${lease.grant}: ${exactly(lease.start)} to ${exactly(end)}, ${how}; renewed ${lease.renewals.length} times`;
  const bad = ran || ["refused", "lost", "deleted"].includes(lease.how);
  const words = height > 11 ? label(named(lease.renewals.length), x1, x2 - 6, y + height / 2) : null;
  const group = s("g", null, title(told),
    s("rect", { x: x1.toFixed(1), y, width: (x2 - x1).toFixed(1), height, rx: 2, class: "bar" }),
    lease.renewals.map(({ t }) => s("path", { d: `M${scale.x(t).toFixed(1)} ${y} v${height}`, class: "renewal" })),
    words,
    s("g", { class: "end", transform: `translate(${x2.toFixed(1)} ${y + height / 2})` }, shape(bad ? "cross" : lease.how === "abandoned" ? "dash" : "bar", bad ? 4 : height / 2)),
    late.map(({ t, what }) => s("g", { class: "late", transform: `translate(${scale.x(t).toFixed(1)} ${y + height / 2})` },
      title(`${exactly(t)}: ${what === "refused" ? "late publish refused" : what}`), shape(what === "published" ? "dot" : "cross", 4))));
  // That it is lost, and how often it is renewed, is not known before.
  const see = (t) => {
    group.setAttribute("class", `lease${bad && t >= end ? " lease-bad" : ""}`);
    if (words) words.textContent = named(lease.renewals.filter((renewal) => renewal.t <= t).length);
  };
  see(Infinity);
  return Object.assign(group, { asOf: see });
}

function leases(side, scale, grants, y, height) {
  const bands = grants.map((lease) => ({ ...lease, end: lease.end, cut: lease.end ?? lease.until }));
  const rows = stack(bands.map((band) => Object.assign(band, { shown: band.end, end: band.cut })), scale.time(2));
  const nodes = bands.map((band) => leaseBand(side, scale, Object.assign(band, { end: band.shown }), y + band.row * (height + 2), height));
  return { nodes, height: rows * (height + 2) };
}

function entryBand(scale, entry, y, height) {
  const end = Math.min(entry.end ?? entry.hard, scale.span);
  const [x1, xs, x2] = [entry.start, Math.min(entry.soft, end), end].map((t) => scale.x(t));
  const beyond = entry.end === null && entry.hard > scale.span;
  const value = entry.value === undefined || entry.value === null ? "" : `v${entry.value} `;
  const fresh = xs - x1 >= x2 - xs;
  const lives = Number.isFinite(entry.hard) ? `soft ${ms(entry.soft - entry.start)}, hard ${ms(entry.hard - entry.start)}` : "";
  const [lx, rx] = fresh ? [x1, xs] : [xs, x2];
  const words = [`${value}${fresh ? "fresh" : "stale"}; ${lives}`, `${value}${fresh ? "fresh" : "stale"}`, value.trim()].find((words) => words.length * CHAR + 14 < rx - lx);
  const told = `entry ${value}stored at ${exactly(entry.start)}: fresh for ${ms(entry.soft - entry.start)}, gone after ${ms(entry.hard - entry.start)}${entry.removed ? `; removed at ${exactly(entry.end)}` : ""}`;
  return s("g", { class: "entry" }, title(told),
    s("rect", { x: x1.toFixed(1), y, width: Math.max(xs - x1, 0).toFixed(1), height, class: "bar" }),
    s("rect", { x: xs.toFixed(1), y, width: Math.max(x2 - xs, 0).toFixed(1), height, class: "bar stale", fill: patternOf("stale") }),
    xs > x1 && xs < x2 ? s("path", { d: `M${xs.toFixed(1)} ${y - 1} v${height + 2}`, class: "soft" }) : null,
    height > 11 && words ? text(lx + 5, y + height / 2 + 4, words, { class: "in" }) : null,
    s("g", { class: "end", transform: `translate(${x2.toFixed(1)} ${y + height / 2})` },
      entry.removed ? shape("cross", 4) : beyond ? s("path", { d: "M-5 -4 L0 0 L-5 4", class: "line" }) : shape("bar", height / 2)));
}

function entries(side, scale, list, y, height) {
  const bands = list.map((entry) => ({ ...entry, shown: entry.end, end: entry.end ?? entry.hard }));
  const rows = stack(bands);
  return { nodes: bands.map((band) => entryBand(scale, Object.assign(band, { end: band.shown }), y + band.row * (height + 2), height)), height: rows * (height + 2) };
}

const TRACKS = [
  ["source", (side) => [...side.loads.values()], source],
  ["lease", (side) => [...side.grants.values()], leases],
  ["entry", (side) => side.entries, entries],
];

// The rows of all keys, from `y` down: `{nodes, labels, height}`.
export function tracks(side, scale, y) {
  const keys = Array.from({ length: side.setting?.keys ?? 1 }, (_, i) => i + 1);
  const dense = keys.length > DENSE;
  const bar = dense ? 6 : 16;
  const out = { nodes: [], labels: [], height: 0 };
  for (const key of keys) {
    const top = y + out.height;
    for (const [name, of, draw] of TRACKS) {
      const row = y + out.height;
      const items = of(side).filter((item) => item.key === key);
      const { nodes, height } = draw(side, scale, items, row, bar);
      out.nodes.push(nodes);
      if (!dense && items.length === 0) out.labels.push({ x: scale.left + 1, y: row + bar / 2 + 4, words: "none", name: "none" });
      if (!dense) out.labels.push({ y: row + bar / 2 + 4, words: keys.length > 1 ? `${name} ${key}` : name, name });
      out.height += height + (dense ? 0 : 5);
    }
    if (dense) out.labels.push({ y: top + 13, words: `key ${key}`, name: "key" });
    out.height += dense ? 5 : keys.length > 1 ? 6 : 0;
  }
  return out;
}

