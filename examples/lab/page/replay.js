// The replay: plays the race slowly, stops, scrubs, and steps from one key moment to the next.
import { byId } from "./dom.js";
import { exactly } from "./scale.js";
import { steps, story } from "./story.js";

const SECONDS = 8;
const FINEST = 1 / 500;
const SCRUB = 2000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const CALM_STEP_MS = 900;

const toSpeed = (value) => FINEST ** (1 - value / 100);
const toSlider = (speed) => Math.round((1 - Math.log(speed) / Math.log(FINEST)) * 100);

function speedWords(speed) {
  if (speed > 0.95) return "real time";
  return `${Number((1 / speed).toFixed(speed > 0.1 ? 1 : 0))} × slower`;
}

export class Replay {
  constructor(onseek, ontell) {
    this.onseek = onseek;
    this.ontell = ontell;
    this.t = 0;
    this.playing = false;
    const on = (id, what) => byId(id).addEventListener("click", what);
    on("replay-play", () => (this.playing ? this.pause() : this.play()));
    on("replay-back", () => this.step(-1));
    on("replay-on", () => this.step(1));
    on("replay-all", () => this.all());
    byId("replay-scrub").addEventListener("input", (event) => { this.pause(); this.seek((event.target.value / SCRUB) * this.race.last); });
    byId("replay-speed").addEventListener("input", () => this.speed());
    byId("figure").addEventListener("keydown", (event) => this.key(event));
  }

  set(race) {
    this.stop();
    this.race = race;
    this.moments = story(race);
    this.steps = steps(race, this.moments);
    byId("replay-speed").value = toSlider(Math.min(1, Math.max(FINEST, race.last / (SECONDS * 1000))));
    this.speed();
    byId("replay").hidden = false;
    this.all();
  }

  // Takes the replay away while a race runs.
  stop() {
    this.pause();
    byId("replay").hidden = true;
    this.race = null;
  }

  speed() {
    this.factor = toSpeed(Number(byId("replay-speed").value));
    byId("replay-speed").setAttribute("aria-valuetext", speedWords(this.factor));
    byId("replay-speed-words").textContent = speedWords(this.factor);
  }

  key(event) {
    if (!this.race || event.target !== event.currentTarget) return;
    const keys = { " ": () => (this.playing ? this.pause() : this.play()), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => { this.pause(); this.seek(0, true); }, End: () => this.all() };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  play() {
    if (this.t >= this.race.last - 1e-6) this.seek(0);
    this.playing = true;
    byId("replay-play").textContent = "Pause";
    if (calm.matches) {
      this.timer = setInterval(() => (this.next(1) === null ? this.pause() : this.seek(this.next(1), true)), CALM_STEP_MS);
      return;
    }
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      const t = this.t + (now - before) * this.factor;
      before = now;
      this.seek(Math.min(t, this.race.last));
      if (t >= this.race.last) this.pause();
      else this.frame = requestAnimationFrame(frame);
    };
    this.frame = requestAnimationFrame(frame);
  }

  pause() {
    this.playing = false;
    clearInterval(this.timer);
    cancelAnimationFrame(this.frame);
    byId("replay-play").textContent = "Replay";
  }

  next(way) {
    const ahead = way > 0 ? this.steps.filter((t) => t > this.t + 0.01) : this.steps.filter((t) => t < this.t - 0.01);
    return ahead.length === 0 ? null : way > 0 ? ahead[0] : ahead.at(-1);
  }

  step(way) {
    this.pause();
    const t = this.next(way);
    if (t !== null) this.seek(t, true);
  }

  // The whole race, as it was at its end.
  all() {
    this.pause();
    this.t = this.race.last;
    this.show(null);
    this.ontell(null, false);
  }

  seek(t, aloud = false) {
    this.t = t;
    this.show(t);
    this.ontell(t, aloud);
  }

  show(t) {
    byId("replay-scrub").value = Math.round((this.t / Math.max(this.race.last, 0.001)) * SCRUB);
    byId("replay-scrub").setAttribute("aria-valuetext", exactly(this.t));
    byId("replay-time").textContent = exactly(this.t);
    this.onseek(t);
  }
}
