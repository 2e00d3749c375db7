// What is shown of a race: the timeline, the replay, the answers, the read-outs and the story.
import { byId, h } from "./dom.js";
import { answers, readouts } from "./readouts.js";
import { Replay } from "./replay.js";
import { exactly } from "./scale.js";
import { empty, Timeline } from "./timeline.js";

const FRAME_MS = 60;

export class Stage {
  constructor(say) {
    this.say = say;
    this.race = null;
    this.timeline = new Timeline(byId("figure"));
    this.replay = new Replay((t) => this.seek(t), (t, aloud) => this.tell(t, aloud));
    byId("figure").replaceChildren(empty());
  }

  // Begins to show a race that runs.
  begin(race) {
    this.replay.stop();
    this.race = race;
    this.drawn = 0;
    this.began = null;
    byId("figure").setAttribute("aria-busy", "true");
    for (const id of ["story", "story-count", "now", "answers", "readouts"]) byId(id).replaceChildren();
    this.timeline.begin(race);
    this.tick();
  }

  // Draws while the race runs, time going on between its events.
  tick() {
    cancelAnimationFrame(this.frame);
    const frame = (now) => {
      if (!this.race || this.race.ended) return;
      if (this.race.events.length > 0) this.began ??= now - this.race.last;
      if (now - this.drawn >= FRAME_MS && this.began !== null) {
        this.drawn = now;
        this.timeline.draw(Math.max(this.race.last, now - this.began));
        byId("answers").replaceChildren(answers(this.race));
      }
      this.frame = requestAnimationFrame(frame);
    };
    this.frame = requestAnimationFrame(frame);
  }

  // Shows a race that has ended, or that was opened.
  end(race) {
    cancelAnimationFrame(this.frame);
    this.race = race;
    byId("figure").removeAttribute("aria-busy");
    this.timeline.show(race);
    readouts(byId("readouts"), race);
    this.replay.set(race);
    this.list();
  }

  // Shows what was known at `t`; all of it where `t` is null.
  seek(t) {
    this.timeline.seek(t);
    byId("answers").replaceChildren(answers(this.race, t ?? Infinity));
  }

  // Keeps what is known of a race that was cancelled or broke off, where one had begun.
  stop() {
    if (!this.race || this.race.ended) return;
    cancelAnimationFrame(this.frame);
    byId("figure").removeAttribute("aria-busy");
    this.timeline.draw(this.race.last);
    this.race = null;
  }

  list() {
    const two = this.race.sides.length > 1;
    const moments = this.replay.moments;
    byId("story").replaceChildren(...moments.map(({ t, side, words, fault }) => h("li", { class: fault ? "fault" : null },
      h("button", { type: "button", onclick: () => { this.replay.pause(); this.replay.seek(t, true); } }, h("span", { class: "t" }, exactly(t)),
        two ? h("span", { class: "side" }, "AB"[side]) : null, h("span", null, words)))));
    byId("story-count").textContent = `${moments.length} moments`;
  }

  // What had just happened at `t`; read aloud where the reader stepped there.
  tell(t, aloud) {
    const { moments } = this.replay;
    const two = this.race?.sides.length > 1;
    let index = -1;
    if (t !== null) index = moments.findLastIndex((moment) => moment.t <= t + 0.01);
    const now = index < 0 ? [] : moments.slice(0, index + 1).filter((moment) => moments[index].t - moment.t < 0.06);
    const words = now.map((moment) => `${two ? `${"AB"[moment.side]}: ` : ""}${moment.words}`).join("; ");
    byId("now").setAttribute("aria-live", aloud ? "polite" : "off");
    byId("now").textContent = words;
    byId("story").querySelector(".now")?.classList.remove("now");
    byId("story").children[index]?.classList.add("now");
  }
}
