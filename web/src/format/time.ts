// Times, relative and absolute; the API's are in seconds since 1970.

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_556_952],
  ["month", 2_629_746],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const ABSOLUTE = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});

/** Returns a time as seen from another, such as `3 hours ago`. */
export function formatRelative(seconds: number, now: number): string {
  const difference = seconds - now;
  for (const [unit, length] of STEPS) {
    if (Math.abs(difference) >= length) {
      return RELATIVE.format(Math.trunc(difference / length), unit);
    }
  }
  return Math.abs(difference) < 10 ? "just now" : RELATIVE.format(Math.trunc(difference), "second");
}

/** Returns the time of what has happened, as seen from another: never in the future, although the clocks
 * of the server and the reader differ, or `now` is read less often than things happen. */
export function formatPast(seconds: number, now: number): string {
  return formatRelative(Math.min(seconds, now), now);
}

/** Returns a time in the reader's zone. */
export function formatAbsolute(seconds: number): string {
  return ABSOLUTE.format(seconds * 1000);
}

/** Returns a duration as minutes and seconds, with hours if there are some: `0:05`, `1:02:03`. */
export function formatDuration(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
