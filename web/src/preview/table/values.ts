// Values of a table as text.

const NUMERIC = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/i;
const MAX_CHARS = 300;

/** Returns a value as one line of text. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** Whether a column of DuckDB's type holds numbers. */
export function isNumeric(type: string): boolean {
  return NUMERIC.test(type);
}

/** Returns a share as a percentage, with `<1 %` for the smallest. */
export function formatShare(part: number, whole: number): string {
  if (!whole || !part) return "0 %";
  const percent = (100 * part) / whole;
  return percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

/** Returns the least or greatest value of a column, short enough for the end of a histogram. */
export function formatBound(value: unknown): string {
  if (typeof value === "number") return Number.parseFloat(value.toPrecision(4)).toString();
  return formatValue(value).replace(/ 00:00:00.*$/, "").slice(0, 16);
}
