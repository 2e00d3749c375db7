// The lanes of the callers: one band for those who came at about the same time and were answered alike.
import { s } from "./dom.js";
import { bundle } from "./bundle.js";
import { mark, patternOf } from "./marks.js";
import { exactly, ms } from "./scale.js";
import { text } from "./tracks.js";
import { howOf } from "./words.js";

const CHAR = 6.3;
const TALL = 300;

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

// Those who led come first and each in a lane of their own, while they are few.
function lanes(scale, calls, most) {
  const items = calls.map((call) => ({ call, start: call.arrived, end: call.answered, kind: call.how ?? "pending", led: call.led || call.how === "loaded" }));
  const led = items.filter((item) => item.led);
  const few = led.length <= 6;
  const rest = few ? items.filter((item) => !item.led) : items;
  const alone = few ? led.map((item) => ({ ...item, alone: true, count: 1, items: [item] })) : [];
  return [...alone.sort((a, b) => a.start - b.start), ...bundle(rest, scale.time(8), most)];
}

const tall = (count) => Math.max(15, Math.min(96, 6 * Math.sqrt(count)));

function told(band) {
  const latencies = band.items.filter((item) => item.end !== null).map((item) => item.end - item.start);
  const took = latencies.length ? `, answered after ${ms(Math.min(...latencies))}${latencies.length > 1 ? ` to ${ms(Math.max(...latencies))}` : ""}` : "";
  const { call } = band;
  const only = band.count > 1 ? "" : `caller ${call.call}${call.value === undefined || call.value === null ? "" : `, value v${call.value}`}${call.age_ms ? `, ${ms(call.age_ms)} old` : ""}${call.error ? `, ${call.error}` : ""}: `;
  return `${only}${band.count} ${howOf(band.kind).word}, arrived at ${exactly(band.start)}${took}`;
}

function lane(scale, band, y, height, right) {
  const end = band.end ?? scale.span;
  const x1 = scale.x(band.start);
  const x2 = Math.max(scale.x(end), x1 + 1);
  const words = `${band.count.toLocaleString("en-GB")} ${band.alone && band.kind === "pending" ? "leads" : howOf(band.kind).word}`;
  const wide = words.length * CHAR + 16;
  let at = null;
  if (height >= 14) {
    if (x2 - x1 > wide) at = { x: x1 + 7 };
    else if (x2 + wide < right) at = { x: x2 + 9 };
    else at = { x: x1 - 7, "text-anchor": "end" };
  }
  const half = Math.min(4.5, Math.max(2, height / 2));
  return s("g", { class: `lane how-${band.kind}` }, s("title", null, told(band)),
    s("rect", { x: x1.toFixed(1), y: y.toFixed(1), width: (x2 - x1).toFixed(1), height: Math.max(height - 1.5, 1).toFixed(1), rx: height > 8 ? 2 : 0, fill: patternOf(band.kind), class: "band" }),
    band.end !== null ? mark(band.kind, x2, y + (height - 1.5) / 2, half) : null,
    at ? text(at.x, y + (height - 1.5) / 2 + 4, words, { class: "count", "text-anchor": at["text-anchor"] }) : null);
}

// From `y` down: `{nodes, labels, height}`.
export function callers(side, scale, y, right) {
  const all = groups(side);
  const most = Math.max(6, Math.floor(48 / Math.max(all.length, 1)));
  const drawn = all.map((group) => ({ ...group, bands: lanes(scale, group.calls, most) }));
  const wanted = drawn.flatMap((group) => group.bands).reduce((sum, band) => sum + tall(band.count), 0);
  const room = TALL + 24 * Math.max(all.length - 1, 0);
  const factor = Math.min(1, room / Math.max(wanted, 1));
  const out = { nodes: [], labels: [], height: 0 };
  for (const group of drawn) {
    const top = y + out.height;
    out.labels.push({ y: top + 11, words: group.words, small: String(group.calls.length), name: "callers" });
    for (const band of group.bands) {
      const height = Math.max(band.alone ? 14.5 : 2.5, tall(band.count) * factor);
      out.nodes.push(lane(scale, band, y + out.height, height, right));
      out.height += height;
    }
    out.height = Math.max(out.height, top - y + 26) + 7;
  }
  return out;
}
