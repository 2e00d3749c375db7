// Time on the horizontal axis, and how times are written.

const STEPS = [1, 2, 5];

export class Scale {
  constructor(span, left, right) {
    this.span = Math.max(span, 1);
    this.left = left;
    this.right = right;
  }

  x(t) {
    return this.left + (Math.min(Math.max(t, 0), this.span) / this.span) * (this.right - this.left);
  }

  // The time that so many pixels stand for.
  time(pixels) {
    return (pixels * this.span) / (this.right - this.left);
  }

  // Round times, no closer than a label needs.
  ticks(apart = 84) {
    const least = this.time(apart);
    let step = 10 ** Math.floor(Math.log10(Math.max(least, 0.1)));
    for (let i = 0; step < least; i++) {
      step = STEPS[(i + 1) % 3] * 10 ** (Math.floor(Math.log10(Math.max(least, 0.1))) + Math.floor((i + 1) / 3));
    }
    const ticks = [];
    for (let t = 0; t <= this.span * 1.0001; t += step) ticks.push(t);
    return ticks;
  }
}

const round = (value, digits) => String(Number(value.toFixed(digits)));

// At most three digits that matter: `0.42 ms`, `98 ms`, `1.2 s`.
export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 999.5) return `${round(value / 1000, 2)} s`;
  return `${round(value, value < 1 ? 2 : value < 10 ? 1 : 0)} ms`;
}

// With as many digits as a replay that stands still needs.
export const exactly = (value) => `${value.toFixed(1)} ms`;
