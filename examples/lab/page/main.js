// The page: puts the parts together and starts races.
import * as api from "./api.js";
import { byId, h, s } from "./dom.js";
import { defaults } from "./fields.js";
import { Form } from "./form.js";
import { choose, lessons } from "./lessons.js";
import { fromHash, toHash } from "./link.js";
import { patterns, rows, swatch } from "./marks.js";
import { Race } from "./race.js";
import { verdict } from "./readouts.js";
import * as save from "./save.js";
import { Stage } from "./stage.js";
import { theme } from "./theme.js";
import { HOWS, WORDS } from "./words.js";

class Page {
  constructor(lab) {
    this.lab = lab;
    this.defaults = defaults(lab);
    this.stage = new Stage();
    this.form = new Form(lab, () => this.changed());
    this.running = null;
    this.shown = null;
    lessons(byId("lessons"), lab.presets, (preset) => this.lesson(preset));
    byId("setting").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.running) this.run();
    });
    const on = (id, what) => byId(id).addEventListener("click", what);
    on("cancel", () => this.running?.abort());
    on("copy", () => this.copy());
    on("save-svg", () => this.saveSvg());
    on("save-json", () => save.download(this.name("json"), "application/json", save.json(this.shown)));
    on("open-json", () => byId("file").click());
    byId("file").addEventListener("change", (event) => this.open(event.target));
    addEventListener("hashchange", () => this.fromLink());
    this.form.set({ seed: 1, sides: [this.defaults] });
    this.fromLink();
  }

  say(words, kind = "") {
    byId("status").className = kind;
    byId("status").replaceChildren(...[words].flat().map((line) => h("span", null, line)));
  }

  name(kind) {
    return `stampede-${this.shown.seed}.${kind}`;
  }

  fromLink() {
    const setting = fromHash(location.hash, this.defaults);
    if (!setting) return;
    if (location.hash === this.hash) return;
    this.form.set(setting);
    choose(byId("lessons"), byId("about"), null);
    if (setting.mistakes.length) this.say(`The link cannot be read in full: ${setting.mistakes.join("; ")}. The rest of it is filled in.`, "bad");
    else this.say("The setting of the link is filled in. Run it to see it.");
  }

  link() {
    this.hash = toHash(this.form.read(), this.defaults);
    history.replaceState(null, "", this.hash);
    return location.href;
  }

  changed() {
    choose(byId("lessons"), byId("about"), null);
    this.link();
  }

  async copy() {
    const link = this.link();
    try {
      await navigator.clipboard.writeText(link);
      this.say("The link is copied; it reproduces this setting.");
    } catch {
      this.say(`The link that reproduces this setting: ${link}`);
    }
  }

  lesson(preset) {
    this.running?.abort();
    this.stage.stop();
    this.form.set({ seed: preset.seed ?? 1, sides: preset.sides.filter(Boolean).map((setting) => ({ ...this.defaults, ...setting })) });
    choose(byId("lessons"), byId("about"), preset);
    this.run();
    byId("stage").scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  // Run and Cancel take turns; what is disabled loses the focus, so it goes to the other.
  busy(running) {
    this.running = running;
    const [off, on] = (running ? ["run", "cancel"] : ["cancel", "run"]).map(byId);
    on.disabled = false;
    if (document.activeElement === off) on.focus();
    off.disabled = true;
    for (const id of ["save-svg", "save-json"]) byId(id).disabled = running !== null || this.shown === null;
  }

  async run() {
    this.form.clear();
    this.link();
    const setting = this.form.read();
    const mistakes = this.form.mistakes(setting);
    if (mistakes.length) {
      this.refused(new api.Refusal(mistakes[0].message, mistakes));
      return;
    }
    const race = new Race(setting.seed, setting.sides);
    const running = new AbortController();
    this.busy(running);
    this.say("The race runs …");
    try {
      await api.race(setting, running.signal, (event) => {
        if (running !== this.running) return;
        // Until it begins, and for good where it is refused, the last one stays.
        if (race.events.length === 0) this.begin(race);
        race.take(event);
      });
      if (running !== this.running) return;
      this.show(race);
    } catch (error) {
      if (running !== this.running) return;
      this.stage.stop();
      if (error.name === "AbortError") this.say("Cancelled.");
      else this.refused(error);
    }
    this.busy(null);
  }

  begin(race) {
    this.shown = null;
    this.stage.begin(race);
  }

  refused(error) {
    const unplaced = this.form.tell(error.mistakes ?? []);
    const words = error instanceof api.Refusal ? error.message : "The lab does not answer. Is it still running?";
    this.say([words, ...unplaced.filter((message) => !words.includes(message))].join(" "), "bad");
  }

  show(race) {
    this.shown = race;
    this.stage.end(race);
    this.say(race.sides.every((side) => side.totals) ? verdict(race) : "The race is over.", "done");
  }

  async saveSvg() {
    const picture = byId("figure").querySelector("svg");
    save.download(this.name("svg"), "image/svg+xml", await save.svg(picture));
  }

  async open(input) {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    try {
      const race = await save.open(file, this.lab);
      this.running?.abort();
      this.form.set({ seed: race.seed, sides: race.sides.map((side) => ({ ...this.defaults, ...side.setting })) });
      this.changed();
      this.show(race);
      this.busy(null);
    } catch (error) {
      this.say(`${error.message}.`, "bad");
    }
  }
}

function words() {
  const term = ({ swatch: drawn, word, means }) => h("p", null, drawn, h("span", null, h("b", null, word), ` ${means}`));
  const hows = Object.entries(HOWS).filter(([how]) => how !== "pending").map(([how, told]) => ({ ...told, swatch: swatch(how) }));
  byId("hows").replaceChildren(...hows.map(term));
  byId("rows").replaceChildren(...rows().map(term));
  byId("words").replaceChildren(...WORDS.map(([word, means]) => h("div", null, h("dt", null, word), h("dd", null, means))));
}

document.body.append(s("svg", { width: 0, height: 0, class: "hidden", "aria-hidden": "true" }, patterns()));
theme(byId("theme"));
words();
// On a phone the lessons and the picture come first.
byId("controls").open = matchMedia("(min-width: 60rem)").matches;
try {
  new Page(await api.lab());
  document.body.dataset.ready = "";
} catch (error) {
  byId("status").className = "bad";
  byId("status").textContent = error instanceof api.Refusal ? error.message : "The lab does not answer. Is it still running?";
  throw error;
}
