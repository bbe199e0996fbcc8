import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "$/api/error";
import { boundsOf, featureAt, MAX_PLACES, parseGeoJson, type Place, toDegrees, toPlace } from "$/preview/map/geojson";

const parse = (value: unknown) => parseGeoJson(JSON.stringify(value));

test("places and degrees are the same point of the world", () => {
  fc.assert(
    fc.property(fc.double({ min: -180, max: 180, noNaN: true }), fc.double({ min: -85, max: 85, noNaN: true }), (longitude, latitude) => {
      const [x, y] = toPlace(longitude, latitude);
      expect(x >= 0 && x <= 1 && y >= 0 && y <= 1).toBe(true);
      const degrees = toDegrees([x, y]);
      expect(degrees[0]).toBeCloseTo(longitude, 9);
      expect(degrees[1]).toBeCloseTo(latitude, 9);
    }),
  );
});

test("the projection is Mercator's", () => {
  expect(toPlace(0, 0)).toEqual([0.5, 0.5]);
  expect(toPlace(-180, 90)[1]).toBeCloseTo(0, 5);
  // y of 60° is ln(tan(75°)) of the radius, as tables have it
  expect(toPlace(0, 60)[1]).toBeCloseTo(0.5 - Math.log(Math.tan((75 * Math.PI) / 180)) / (2 * Math.PI), 12);
});

test("geometries of all types are read", () => {
  const [feature] = parse({
    type: "Feature",
    properties: { title: "all" },
    geometry: {
      type: "GeometryCollection",
      geometries: [
        { type: "Point", coordinates: [0, 0] },
        { type: "MultiPoint", coordinates: [[0, 0], [1, 1, 5]] },
        { type: "LineString", coordinates: [[0, 0], [1, 1]] },
        { type: "MultiLineString", coordinates: [[[0, 0], [1, 1]], [[2, 2], [3, 3]]] },
        { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] },
        { type: "MultiPolygon", coordinates: [[[[0, 0], [1, 0], [1, 1], [0, 0]]], [[[2, 2], [3, 2], [3, 3], [2, 2]]]] },
      ],
    },
  });
  expect([feature?.name, feature?.points.length, feature?.lines.length, feature?.rings.length]).toEqual(["all", 3, 3, 3]);
});

test.each([
  ["{", "unreadable"],
  ["null", "unreadable"],
  ['{"type": "FeatureCollection", "features": []}', "unreadable"],
  ['{"type": "Point", "coordinates": ["a", null]}', "unreadable"],
  ['{"type": "LineString", "coordinates": []}', "unreadable"],
  ['{"type": "MultiPolygon", "coordinates": [[[]], 1]}', "unreadable"],
])("%s has nothing for a map", (text, kind) => {
  expect(() => parseGeoJson(text)).toThrow(expect.objectContaining({ kind }) as Error);
});

const pairs = (count: number, text: string) => `[${Array<string>(count).fill(text).join(",")}]`;

test.each([
  ["MultiPoint", "[1,2]", 1],
  ["Polygon", "[[1,2],[3,4]]", 2],
  ["MultiPolygon", "[[[1,2],[3,4]]]", 2],
])("a %s with many parts is read whole", (type, part, places) => {
  const count = 200_000;
  const [feature] = parseGeoJson(`{"type": "${type}", "coordinates": ${pairs(count, part)}}`);
  const lists = [feature?.points ?? [], ...(feature?.lines ?? []), ...(feature?.rings ?? [])];
  expect(lists.reduce((sum, list) => sum + list.length, 0)).toBe(count * places);
});

test("more places than a map draws are an error that says so", () => {
  const read = (count: number) => parseGeoJson(`{"type": "LineString", "coordinates": ${pairs(count, "[1,2]")}}`);
  expect(read(MAX_PLACES)[0]?.lines[0]?.length).toBe(MAX_PLACES);
  expect(() => read(MAX_PLACES + 1)).toThrow(expect.objectContaining({ kind: "too_large" }) as Error);
});

test("bounds hold all places of all features", () => {
  const features = parse({
    features: [
      { type: "Feature", geometry: { type: "Point", coordinates: [-90, 0] } },
      { type: "Feature", geometry: { type: "LineString", coordinates: [[0, 60], [90, 0]] } },
      { type: "Feature", geometry: { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, -60], [0, 0]]] } },
    ],
  });
  expect(boundsOf(features)).toEqual({ left: 0.25, right: 0.75, top: toPlace(0, 60)[1], bottom: toPlace(0, -60)[1] });
});

const position = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.integer({ min: -200, max: 200 }), fc.integer({ min: -100, max: 100 })) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 1, [], [1], ["1", 2], [1e308, 1], {}) },
);
const listOf = (item: fc.Arbitrary<unknown>) => fc.array(item, { maxLength: 3 });
const coordinates = fc.oneof(position, listOf(position), listOf(listOf(position)), listOf(listOf(listOf(position))));
const simple = fc.record({
  type: fc.constantFrom("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "Other"),
  coordinates,
});
const geometry = fc.oneof(
  simple,
  fc.record({ type: fc.constant("Feature"), geometry: fc.oneof(simple, fc.constant(null)), properties: coordinates }),
  fc.record({ type: fc.constant("GeometryCollection"), geometries: listOf(simple) }),
  fc.record({ features: listOf(simple) }),
);

test("any geometry has finite bounds, or is an error of the file", () => {
  let read = 0;
  fc.assert(
    fc.property(geometry, (value) => {
      try {
        expect(Object.values(boundsOf(parse(value))).every(Number.isFinite)).toBe(true);
        read += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError);
      }
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(30); // enough have places
});

const coordinate = fc.nat(1000).map((thousandths) => thousandths / 1000);
const place = fc.tuple(coordinate, coordinate);

/** On which side of a line from one place to another a place is. */
function turn([ax, ay]: Place, [bx, by]: Place, [x, y]: Place): number {
  return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
}

test("a triangle holds the places on one side of all its edges", () => {
  fc.assert(
    fc.property(place, place, place, place, (a, b, c, at) => {
      const turns = [turn(a, b, at), turn(b, c, at), turn(c, a, at)];
      fc.pre(turns.every((value) => Math.abs(value) > 1e-9));
      const isInside = turns.every((value) => value > 0) || turns.every((value) => value < 0);
      const feature = { name: "", properties: {}, points: [], lines: [], rings: [[a, b, c, a]] };
      expect(featureAt([feature], at, 0)).toBe(isInside ? 0 : undefined);
    }),
    { numRuns: 500 },
  );
});

test("a hole of a polygon does not belong to it", () => {
  const square = (from: number, to: number): Place[] => [[from, from], [to, from], [to, to], [from, to], [from, from]];
  const feature = { name: "", properties: {}, points: [], lines: [], rings: [square(0, 1), square(0.4, 0.6)] };
  expect([featureAt([feature], [0.2, 0.2], 0), featureAt([feature], [0.5, 0.5], 0)]).toEqual([0, undefined]);
});

test("the last feature within the distance of a point or a line is found", () => {
  const empty = { name: "", properties: {}, points: [], lines: [], rings: [] };
  const features = [
    { ...empty, points: [[0.5, 0.5] as const] },
    { ...empty, lines: [[[0, 0] as const, [1, 0] as const]] },
    { ...empty, lines: [[[0, 1] as const, [0, 1] as const]] },
  ];
  expect(featureAt(features, [0.5, 0.51], 0.02)).toBe(0);
  expect(featureAt(features, [0.7, 0.01], 0.02)).toBe(1);
  expect(featureAt(features, [1.01, 0], 0.02)).toBe(1);
  expect(featureAt(features, [0, 0.99], 0.02)).toBe(2);
  expect(featureAt(features, [0.7, 0.5], 0.02)).toBeUndefined();
});
