// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { entryChanged, keepPlace, leaveEntry, placeOf } from "$/router/places";

beforeEach(() => {
  vi.useFakeTimers();
  entryChanged();
  window.history.replaceState(null, "");
});

afterEach(() => {
  vi.useRealTimers();
});

test("places are written to the entry of the history once for all that are kept within 150 ms", () => {
  const written = vi.spyOn(window.history, "replaceState");
  for (const top of [1, 2, 3]) keepPlace("list", top);
  keepPlace("folders", { a: true });
  expect(placeOf("list")).toBe(3);
  vi.advanceTimersByTime(149);
  expect(written).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(written).toHaveBeenCalledTimes(1);
  expect(window.history.state).toEqual({ places: { list: 3, folders: { a: true } } });
  expect(placeOf("list")).toBe(3);
});

test("places are written before the entry is left, and those of the next entry are its own", () => {
  keepPlace("list", 5);
  leaveEntry();
  expect(window.history.state).toEqual({ places: { list: 5 } });
  window.history.pushState(null, "", "/next");
  expect(placeOf("list")).toBeUndefined();
});

test("what was to be kept when the browser went to another entry is not written there", () => {
  keepPlace("list", 5);
  window.history.pushState({ places: { list: 7 } }, "", "/other");
  entryChanged();
  vi.advanceTimersByTime(1000);
  expect(placeOf("list")).toBe(7);
});
