// Scales of plots.

const STEPS = [1, 2, 4, 5, 8, 10];

/** Returns round numbers from 0 to at least `max`, about `count` of them; of bytes, so in powers of 1024. */
export function byteTicks(max: number, count: number): number[] {
  if (max <= 0) return [0, 1];
  const unit = 1024 ** Math.floor(Math.log(Math.max(max, 1)) / Math.log(1024));
  const rough = max / unit / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const round = (STEPS.find((factor) => factor * power >= rough) ?? 10) * power * unit;
  const step = Math.max(1, round); // there is no part of a byte
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step);
}

/** Returns where times stand between 0 and 1; evenly if they are all equal. */
export function timePositions(times: readonly number[]): number[] {
  const first = times[0] ?? 0;
  const length = (times.at(-1) ?? 0) - first;
  return times.map((time, index) => (length > 0 ? (time - first) / length : index / Math.max(1, times.length - 1)));
}
