// The lanes of the callers: one band for those who came at about the same time and were answered alike.
import { s } from "./dom.js";
import { bundle } from "./bundle.js";
import { later, mark, patternOf } from "./marks.js";
import { exactly, ms } from "./scale.js";
import { text } from "./tracks.js";
import { howOf } from "./words.js";

const CHAR = 6.3;
const TALL = 300;
// Answers that took less are marks, since a bar of several would look like waiting; and where a bar would be hidden by its mark.
const INSTANT_MS = 2;
const HIDDEN = 3;

// Groups by process where there are several, else by key.
function groups(side) {
  const { processes = 1, keys = 1 } = side.setting ?? {};
  const by = processes > 1 ? "process" : keys > 1 && keys <= 4 ? "key" : null;
  const groups = new Map();
  for (const call of side.calls.values()) {
    if (call.arrived === null) continue;
    const id = by === null ? 0 : call[by];
    if (!groups.has(id)) groups.set(id, []);
    groups.get(id).push(call);
  }
  return [...groups].sort(([a], [b]) => a - b).map(([id, calls]) => ({ words: by === null ? "callers" : `${by} ${id}`, calls }));
}

const tall = (count) => Math.max(15, Math.min(96, 6 * Math.sqrt(count)));

// One lane for each way to be answered at once, with a column for those who came at the same time.
function instants(scale, items, apart) {
  return [...Map.groupBy(items, ({ kind }) => kind)].map(([kind, items]) => {
    const columns = [...Map.groupBy(items, ({ end }) => Math.round(scale.x(end) / apart)).values()]
      .map((column) => ({ x: scale.x(column[0].end), size: tall(column.length), many: column.length > 1 }));
    const [start, end] = [Math.min(...items.map((item) => item.start)), Math.max(...items.map((item) => item.end))];
    return { kind, items, count: items.length, start, end, columns, size: Math.max(...columns.map(({ size }) => size)) };
  });
}

// Those who led come first and each in a lane of their own, while they are few.
function lanes(scale, calls, most, apart) {
  const items = calls.map((call) => ({ call, start: call.arrived, end: call.answered, kind: call.how ?? "pending", led: call.led || call.how === "loaded" }));
  const led = items.filter((item) => item.led);
  const few = led.length <= 6;
  const rest = few ? items.filter((item) => !item.led) : items;
  const alone = few ? led.map((item) => ({ ...item, alone: true, count: 1, items: [item], size: tall(1) })) : [];
  const least = Math.max(INSTANT_MS, scale.time(HIDDEN));
  const [quick, slow] = [true, false].map((wanted) => rest.filter(({ start, end }) => (end !== null && end - start < least) === wanted));
  const bars = bundle(slow, scale.time(8), most).map((bar) => ({ ...bar, size: tall(bar.count) }));
  return [...alone.sort((a, b) => a.start - b.start), ...[...instants(scale, quick, apart), ...bars].sort((a, b) => a.start - b.start)];
}

function told(band) {
  const latencies = band.items.filter((item) => item.end !== null).map((item) => item.end - item.start);
  const took = latencies.length ? `, answered after ${ms(Math.min(...latencies))}${latencies.length > 1 ? ` to ${ms(Math.max(...latencies))}` : ""}` : "";
  const { call } = band.items[0];
  const only = band.count > 1 ? "" : `caller ${call.call}${call.value === undefined || call.value === null ? "" : `, value v${call.value}`}${call.age_ms ? `, ${ms(call.age_ms)} old` : ""}${call.error ? `, ${call.error}` : ""}: `;
  const last = Math.max(...band.items.map((item) => item.start));
  const until = last - band.start > 0.1 ? ` to ${exactly(last)}` : "";
  return `${only}${band.count} ${howOf(band.kind).word}, arrived at ${exactly(band.start)}${until}${took}`;
}

// Beside the band, or in it where it has room.
function label(band, x1, x2, y, height, right) {
  if (height < 14) return null;
  const words = `${band.count.toLocaleString("en-GB")} ${band.alone && band.kind === "pending" ? "leads" : howOf(band.kind).word}`;
  const wide = words.length * CHAR + 16;
  const [at, anchor] = !band.columns && x2 - x1 > wide ? [x1 + 7] : x2 + wide < right ? [x2 + 9] : x1 > wide || !band.columns ? [x1 - 7, "end"] : [x1 + 7];
  const node = text(at, y + (height - 1.5) / 2 + 4, words, { class: "count", "text-anchor": anchor });
  return later(node, band.end ?? band.start);
}

// A mark for each column, on a stem where many stand in it.
function points(band, y, height) {
  const middle = y + (height - 1.5) / 2;
  const stem = ({ x, size }) => {
    const long = Math.max((size / band.size) * height - 1.5, 1);
    return `M${x.toFixed(1)} ${(middle - long / 2).toFixed(1)}v${long.toFixed(1)}`;
  };
  return [s("path", { d: band.columns.filter(({ many }) => many).map(stem).join(""), class: "stem" }),
    band.columns.map(({ x }) => mark(band.kind, x, middle, Math.min(4.5, Math.max(2, height / 2))))];
}

// Until all of them are answered, nobody knows how they will be.
function bar(band, x1, x2, y, height) {
  const rect = s("rect", { x: x1.toFixed(1), y: y.toFixed(1), width: (x2 - x1).toFixed(1), height: Math.max(height - 1.5, 1).toFixed(1), rx: height > 8 ? 2 : 0, class: "band" });
  const see = (t) => {
    const kind = band.end !== null && t < band.end ? "pending" : band.kind;
    rect.setAttribute("fill", patternOf(kind));
    rect.setAttribute("class", `band how-${kind}`);
  };
  see(Infinity);
  return [Object.assign(rect, { asOf: see }), band.end === null ? null : mark(band.kind, x2, y + (height - 1.5) / 2, Math.min(4.5, Math.max(2, height / 2)))];
}

function lane(scale, band, y, height, right) {
  const x1 = scale.x(band.start);
  const x2 = Math.max(scale.x(band.end ?? scale.span), x1 + 1);
  const drawn = band.columns ? points(band, y, height) : bar(band, x1, x2, y, height);
  return { node: s("g", { class: `lane how-${band.kind}` }, s("title", null, told(band)), drawn), words: label(band, x1, x2, y, height, right) };
}

// From `y` down: `{nodes, words, labels, height}`; a replay does not cut the words, it leaves them out.
export function callers(side, scale, y, right) {
  const all = groups(side);
  const most = Math.max(6, Math.floor(48 / Math.max(all.length, 1)));
  const drawn = all.map((group) => ({ ...group, bands: lanes(scale, group.calls, most, all.length > 2 ? 10 : 5) }));
  const wanted = drawn.flatMap((group) => group.bands).reduce((sum, band) => sum + band.size, 0);
  const room = TALL + 24 * Math.max(all.length - 1, 0);
  const factor = Math.min(1, room / Math.max(wanted, 1));
  const out = { nodes: [], words: [], labels: [], height: 0 };
  for (const group of drawn) {
    const top = y + out.height;
    out.labels.push({ y: top + 11, words: group.words, small: String(group.calls.length), name: "callers" });
    for (const band of group.bands) {
      const height = Math.max(band.alone || band.columns ? 14.5 : 2.5, band.size * factor);
      const { node, words } = lane(scale, band, y + out.height, height, right);
      out.nodes.push(node);
      if (words) out.words.push(words);
      out.height += height;
    }
    out.height = Math.max(out.height, top - y + 26) + 7;
  }
  return out;
}
