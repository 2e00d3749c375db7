// The picture of a race: both sides under one time axis.
import { h, s } from "./dom.js";
import { callers } from "./callers.js";
import { FIELDS, inWords } from "./fields.js";
import { later, shape } from "./marks.js";
import { exactly, ms, Scale } from "./scale.js";
import { text, tracks } from "./tracks.js";

const NARROW = 560;
const EMPTY = 120;
const FLAG_CHAR = 7.4;

const ALWAYS = ["callers", "load_ms"];

// What is told of a side in its heading: its callers, its load, and all that the other side has otherwise; alone, or where nothing
// differs, what matters most.
function heading(setting, other) {
  if (!setting) return "";
  const differing = other ? FIELDS.filter(({ name }) => setting[name] !== other[name]) : [];
  const { processes, keys, fault } = setting;
  const most = { processes: processes > 1, keys: keys > 1, backend: true, losers: true, fault: fault && fault !== "none" };
  const told = (field) => ALWAYS.includes(field.name) || (differing.length ? differing.includes(field) : most[field.name]);
  return FIELDS.filter(told).map((field) => inWords(field, setting[field.name])).join(" · ");
}

function axis(scale, y, height) {
  return s("g", { class: "axis" }, scale.ticks().map((t) => {
    const x = scale.x(t);
    const last = x > scale.right - 24;
    return [
      s("path", { d: `M${x.toFixed(1)} ${y + 6} V${height}`, class: "grid" }),
      text(x, y, ms(t), { "text-anchor": last ? "end" : t === 0 ? "start" : "middle" }),
    ];
  }));
}

// As much of it as fits; the rest is in the title, and in the list of moments.
function shortened(words, more, fits) {
  if (words.length + more.length <= fits) return words + more;
  const cut = words.slice(0, Math.max(fits - more.length - 1, 1));
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), 0)) || cut}…${more}`;
}

// What happens at about the same time is one flag, with the number of the others.
function flags(side, scale) {
  const flags = [];
  for (const fault of side.faults) {
    const last = flags.at(-1);
    if (last && scale.x(fault.t) - scale.x(last.t) < 14) last.all.push(fault);
    else flags.push({ t: fault.t, all: [fault] });
  }
  let taken = -Infinity;
  let row = 0;
  for (const flag of flags) {
    const x = scale.x(flag.t);
    const more = flag.all.length > 1 ? ` (and ${flag.all.length - 1} more)` : "";
    flag.words = shortened(flag.all[0].what, more, Math.floor((scale.right - 20) / FLAG_CHAR));
    const wide = flag.words.length * FLAG_CHAR + 20;
    flag.left = x + wide > scale.right;
    // Where neither side has room, as far right as it goes.
    flag.at = flag.left ? (x < wide ? null : x - 6) : x + 11;
    flag.start = Math.max(0, scale.right - wide + 20);
    row = x - (flag.left ? wide : 0) < taken ? row + 1 : 0;
    flag.row = row;
    taken = Math.max(taken, x + (flag.left ? 12 : wide));
  }
  return flags;
}

const flagRows = (flags) => Math.max(0, ...flags.map((flag) => flag.row + 1));

function faults(flags, scale, top, bottom) {
  return flags.map((flag) => {
    const x = scale.x(flag.t);
    const y = top - 7 - flag.row * 14;
    const node = s("g", { class: "fault" }, s("title", null, flag.all.map((fault) => `${exactly(fault.t)}: ${fault.what}`).join("\n")),
      flag.all.map((fault) => s("path", { d: `M${scale.x(fault.t).toFixed(1)} ${y} V${bottom}`, class: "line" })),
      s("g", { transform: `translate(${x.toFixed(1)} ${y})` }, shape("flag")),
      text(flag.at ?? flag.start, y + 4, flag.words, { "text-anchor": flag.left && flag.at !== null ? "end" : undefined }));
    return later(node, flag.t);
  });
}

// The heading in lines that fit.
function lines(words, fits) {
  const lines = [""];
  for (const part of words.split(" · ")) {
    const joined = lines.at(-1) === "" ? part : `${lines.at(-1)} · ${part}`;
    if (joined.length <= fits || lines.at(-1) === "") lines[lines.length - 1] = joined;
    else lines.push(part);
  }
  return lines;
}

export class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.race = null;
    this.scale = new Scale(EMPTY, 0, 1);
    this.at = null;
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 1) return;
      width = entry.contentRect.width;
      // Not within the observer: what is drawn has a size of its own.
      requestAnimationFrame(() => this.draw(this.live));
    }).observe(figure);
  }

  // A race that is to be drawn as it runs: whole, wherever a replay of another had stopped.
  begin(race) {
    this.race = race;
    this.at = null;
  }

  show(race) {
    this.begin(race);
    this.draw();
  }

  // The time at the right edge: the end of the race, or a little beyond what is known while it runs.
  span(live) {
    if (!this.race) return EMPTY;
    return live === undefined ? Math.max(this.race.last * 1.03, 2) : Math.max(live * 1.08, 20);
  }

  draw(live) {
    if (!this.race) return;
    const width = Math.max(this.figure.clientWidth, 280);
    const narrow = width < NARROW;
    const scale = new Scale(this.span(live), narrow ? 62 : 104, width - (narrow ? 12 : 20));
    this.scale = scale;
    this.live = live;
    const content = s("g", { "clip-path": "url(#until-now)" });
    const fixed = s("g", { class: "labels" });
    const words = s("g");
    let y = 30;
    this.race.sides.forEach((side, index) => {
      y = this.side(side, index, { scale, y, width, narrow, content, words, fixed });
    });
    const height = Math.ceil(y);
    this.until = s("rect", { x: 0, y: 0, width, height });
    this.cursor = s("path", { class: "cursor", d: `M0 20 V${height}` });
    const svg = s("svg", { class: "timeline", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Timeline of the race; the list “What happened” tells the same in words" },
      s("defs", null, s("clipPath", { id: "until-now" }, this.until)), axis(scale, 14, height), fixed, content, words, this.cursor);
    this.parts = [...svg.querySelectorAll("*")].filter((node) => node.asOf);
    this.figure.replaceChildren(svg);
    this.seek(this.at);
  }

  side(side, index, { scale, y, width, narrow, content, words, fixed }) {
    const name = this.race.sides.length > 1 ? `${"AB"[index]}  ` : "";
    fixed.append(s("path", { d: `M0 ${y} H${width}`, class: "rule" }));
    const told = lines(heading(side.setting, this.race.sides[1 - index]?.setting), Math.floor((width - 20) / 6.6) - name.length);
    fixed.append(s("text", { class: "heading" }, told.map((line, i) => s("tspan", { x: 0, y: y + 19 + i * 17 }, i === 0 ? s("tspan", { class: "letter" }, name) : null, line))));
    const raised = flags(side, scale);
    const top = y + 34 + (told.length - 1) * 17 + flagRows(raised) * 15;
    const rows = tracks(side, scale, top);
    const lanes = callers(side, scale, top + rows.height + 6, scale.right);
    const bottom = top + rows.height + lanes.height + 10;
    content.append(...[rows.nodes, lanes.nodes].flat(Infinity));
    words.append(...lanes.words, ...faults(raised, scale, top, bottom - 6));
    for (const label of [...rows.labels, ...lanes.labels]) {
      fixed.append(text(label.x ?? 0, label.y, label.words, { class: `label label-${label.name}` }));
      if (label.small && !narrow) fixed.append(text(scale.left - 10, label.y, label.small, { class: "small", "text-anchor": "end" }));
    }
    return bottom + 8;
  }

  // Shows what had happened by the time `t`; everything where `t` is null.
  seek(t) {
    this.at = t;
    if (!this.until) return;
    const x = t === null ? this.scale.right + 40 : this.scale.x(t);
    for (const node of this.parts) node.asOf(t ?? Infinity);
    this.until.setAttribute("width", Math.max(x, 0).toFixed(2));
    this.cursor.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
    this.cursor.classList.toggle("off", t === null);
  }
}

export const empty = () => h("p", { class: "empty" }, "Start a lesson, or set what you like and run it. The timeline appears here as the race runs.");
