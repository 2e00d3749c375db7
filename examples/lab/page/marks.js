// The shapes and patterns of the timeline, so that nothing is told by colour alone.
import { s } from "./dom.js";
import { HOWS } from "./words.js";

const SHAPES = {
  diamond: (r) => s("path", { d: `M0 ${-r - 1} L${r + 1} 0 L0 ${r + 1} L${-r - 1} 0 Z` }),
  dot: (r) => s("circle", { r: r - 0.5 }),
  ring: (r) => s("circle", { r: r - 1, class: "hollow" }),
  up: (r) => s("path", { d: `M0 ${-r} L${r} ${r - 1} L${-r} ${r - 1} Z` }),
  down: (r) => s("path", { d: `M0 ${r} L${r} ${1 - r} L${-r} ${1 - r} Z` }),
  square: (r) => s("rect", { x: 0.5 - r, y: 0.5 - r, width: 2 * r - 1, height: 2 * r - 1 }),
  box: (r) => s("rect", { x: 1 - r, y: 1 - r, width: 2 * r - 2, height: 2 * r - 2, class: "hollow" }),
  cross: (r) => s("path", { d: `M${1 - r} ${1 - r} L${r - 1} ${r - 1} M${r - 1} ${1 - r} L${1 - r} ${r - 1}`, class: "line" }),
  dash: (r) => s("path", { d: `M${-r} 0 H${r}`, class: "line" }),
  bar: (r) => s("path", { d: `M0 ${-r} V${r}`, class: "line" }),
  flag: (r) => s("path", { d: `M0 ${-r - 2} L${r + 3} ${-r / 2} L0 ${r / 2} Z` }),
};

// What is seen of a node hangs on the time that a replay shows: `asOf` is told it. This one is not seen before `from`.
export const later = (node, from) => Object.assign(node, { asOf: (t) => node.classList.toggle("yet", t < from) });

// The shape alone, around the origin.
export const shape = (name, r = 4.5) => SHAPES[name](r);

export const mark = (how, x, y, r = 4.5) =>
  s("g", { class: `mark how-${how}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, shape(HOWS[how]?.mark ?? "dot", r));

// One pattern for each way that bands are filled; the id is the document's, so it is spelled once, here.
export const patternOf = (name) => `url(#pattern-${name})`;

const STROKES = {
  loaded: [6, "M0 0 H6 V6 H0 Z", "solid"],
  followed: [4, "M0 2 H4"],
  waited: [6, "M-1.5 1.5 L1.5 -1.5 M0 6 L6 0 M4.5 7.5 L7.5 4.5"],
  stale: [6, "M1.5 2.25 H3 M4.5 5.25 H6"],
  default: [6, "M3 0 V6"],
  failed: [7, "M0 0 L7 7 M7 0 L0 7"],
  degraded: [6, "M0 0 L6 6 M-1.5 4.5 L1.5 7.5 M4.5 -1.5 L7.5 1.5"],
  dropped: [8, "M0 4 H4"],
  pending: [4, "M0 2 H1"],
  hit: [4, "M0 2 H4"],
  expired: [6, "M-1.5 1.5 L1.5 -1.5 M0 6 L6 0 M4.5 7.5 L7.5 4.5"],
};

export function patterns() {
  return s("defs", null, Object.entries(STROKES).map(([name, [size, d, solid]]) =>
    s("pattern", { id: `pattern-${name}`, width: size, height: size, patternUnits: "userSpaceOnUse", class: `pattern how-${name}` },
      s("rect", { width: size, height: size, class: "tint" }),
      s("path", { d, class: solid ?? "stroke" }))));
}

// A swatch for the legend: a piece of band and the mark at its end.
export function swatch(how) {
  return s("svg", { class: "swatch", width: 34, height: 14, "aria-hidden": "true" },
    s("rect", { x: 1, y: 2, width: 24, height: 10, rx: 2, fill: patternOf(how), class: `band how-${how}` }),
    HOWS[how]?.mark ? mark(how, 26, 7) : null);
}

// What the rows above the callers look like, for the legend.
const ROWS = [
  ["load", "load", "A read of the source; the mark at its end is a dot for a value, a cross for an error."],
  ["lease", "lease", "From its grant to its end; a stroke for each renewal."],
  ["lease lease-bad", "lost lease", "It ended unpublished: ran out, was refused, voided or deleted."],
  ["entry", "entry", "Fresh up to its soft TTL, dotted and stale from there to its hard TTL."],
  ["fault", "fault", "What was done to the side, and when."],
];

function row(kind) {
  const bar = (props) => s("rect", { x: 1, y: 2, width: 24, height: 10, rx: 2, class: "bar", ...props });
  const at = (x, name, r) => s("g", { class: "end", transform: `translate(${x} 7)` }, shape(name, r));
  switch (kind) {
    case "load": return [bar(), at(25, "dot", 4)];
    case "lease": return [bar(), s("path", { d: "M9 2 V12 M17 2 V12", class: "renewal" }), at(25, "bar", 5)];
    case "lease lease-bad": return [bar(), at(25, "cross", 4)];
    case "entry": return [bar({ width: 14 }), bar({ x: 15, width: 16, class: "bar stale" }), s("path", { d: "M15 1 V13", class: "soft" })];
    default: return [s("path", { d: "M10 1 V14", class: "line" }), s("g", { transform: "translate(10 5)" }, shape("flag"))];
  }
}

export const rows = () => ROWS.map(([kind, word, means]) => ({ word, means, swatch: s("svg", { class: "swatch", width: 34, height: 14, "aria-hidden": "true" }, s("g", { class: kind }, row(kind))) }));
