// GeoJSON (RFC 7946), read without trust in any of its fields, as points, lines and rings in the plane
// of the Mercator projection: x from 0 to 1 eastwards, y from 0 to 1 southwards.

import { ApiError } from "$/api/error";

/** A point of the plane. */
export type Place = readonly [number, number];

/** A feature: what is drawn of it, and what is told of it. */
export interface Feature {
  name: string;
  properties: Record<string, unknown>;
  points: Place[];
  lines: Place[][];
  /** The rings of polygons; those of one polygon follow each other, the outer one first. */
  rings: Place[][];
}

/** The smallest and the largest coordinates of some places. */
export interface Bounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The most places that a map draws. */
export const MAX_PLACES = 500_000;

const MAX_LATITUDE = 85.0511;
const NAMES = ["name", "title", "NAME", "Name", "id", "label"];

/** Returns the features in a text. Throws ApiError for what is not GeoJSON, or too much. */
export function parseGeoJson(text: string): Feature[] {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    throw new ApiError("The file is not JSON.", { kind: "unreadable" });
  }
  const reader = new Reader();
  const object = fields(root);
  const list = Array.isArray(object.features) ? object.features : [root];
  const features = list.map((item, index) => reader.feature(fields(item), index));
  if (!features.some((each) => each.points.length + each.lines.length + each.rings.length)) {
    throw new ApiError("The file has no places on a map.", { kind: "unreadable" });
  }
  return features;
}

/** Returns the bounds of features, at least one of which has a place. */
export function boundsOf(features: readonly Feature[]): Bounds {
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const feature of features) {
    for (const part of [feature.points, ...feature.lines, ...feature.rings]) {
      for (const [x, y] of part) {
        bounds.left = Math.min(bounds.left, x);
        bounds.right = Math.max(bounds.right, x);
        bounds.top = Math.min(bounds.top, y);
        bounds.bottom = Math.max(bounds.bottom, y);
      }
    }
  }
  return bounds;
}

/** Returns the longitude and latitude of a place, in degrees. */
export function toDegrees([x, y]: Place): [number, number] {
  return [x * 360 - 180, (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI];
}

/** Returns the place of a longitude and latitude, in degrees. */
export function toPlace(longitude: number, latitude: number): Place {
  const limited = Math.max(-MAX_LATITUDE, Math.min(MAX_LATITUDE, latitude));
  const angle = (limited * Math.PI) / 180;
  return [(longitude + 180) / 360, (1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2];
}

/** Returns the feature at a place: one whose point or line is within `distance`, or whose area holds
 * the place; the last one drawn if there are several. */
export function featureAt(features: readonly Feature[], place: Place, distance: number): number | undefined {
  for (let index = features.length - 1; index >= 0; index -= 1) {
    const feature = features[index];
    if (!feature) continue;
    const isNear =
      feature.points.some((point) => Math.hypot(point[0] - place[0], point[1] - place[1]) <= distance) ||
      feature.lines.some((line) => isNearLine(line, place, distance)) ||
      holds(feature.rings, place);
    if (isNear) return index;
  }
  return undefined;
}

class Reader {
  #places = 0;

  feature(item: Record<string, unknown>, index: number): Feature {
    const properties = fields(item.properties);
    const name = NAMES.map((key) => properties[key]).find((value) => typeof value === "string");
    const feature: Feature = {
      name: typeof name === "string" && name ? name.slice(0, 200) : `Feature ${index + 1}`,
      properties,
      points: [],
      lines: [],
      rings: [],
    };
    this.#geometry(fields(item.type === "Feature" ? item.geometry : item), feature, 0);
    return feature;
  }

  #geometry(geometry: Record<string, unknown>, into: Feature, depth: number): void {
    const { type, coordinates } = geometry;
    if (type === "Point") this.#points([coordinates], into.points);
    else if (type === "MultiPoint") this.#points(coordinates, into.points);
    else if (type === "LineString") this.#lines([coordinates], into.lines);
    else if (type === "MultiLineString") this.#lines(coordinates, into.lines);
    else if (type === "Polygon") this.#lines(coordinates, into.rings);
    else if (type === "MultiPolygon") for (const rings of list(coordinates)) this.#lines(rings, into.rings);
    else if (type === "GeometryCollection" && depth < 8) {
      for (const part of list(geometry.geometries)) this.#geometry(fields(part), into, depth + 1);
    }
  }

  // one by one: a call cannot have as many arguments as a file may have places

  #points(coordinates: unknown, into: Place[]): void {
    for (const place of this.#line(coordinates)) into.push(place);
  }

  #lines(coordinates: unknown, into: Place[][]): void {
    for (const part of list(coordinates)) {
      const line = this.#line(part);
      if (line.length) into.push(line);
    }
  }

  #line(coordinates: unknown): Place[] {
    const places: Place[] = [];
    for (const position of list(coordinates)) {
      const [longitude, latitude] = list(position);
      if (typeof longitude !== "number" || typeof latitude !== "number") continue;
      if (!Number.isFinite(longitude) || !Number.isFinite(latitude)) continue;
      places.push(toPlace(longitude, latitude));
    }
    this.#places += places.length;
    if (this.#places > MAX_PLACES) {
      throw new ApiError(`The file has more than ${MAX_PLACES.toLocaleString("en")} places, too many for a map.`, {
        kind: "too_large",
        hint: "Download it to look at it.",
      });
    }
    return places;
  }
}

function isNearLine(line: readonly Place[], place: Place, distance: number): boolean {
  for (let index = 1; index < line.length; index += 1) {
    const [from, to] = [line[index - 1], line[index]];
    if (!from || !to) continue;
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = dx * dx + dy * dy;
    const along = length ? ((place[0] - from[0]) * dx + (place[1] - from[1]) * dy) / length : 0;
    const part = Math.max(0, Math.min(1, along));
    if (Math.hypot(from[0] + part * dx - place[0], from[1] + part * dy - place[1]) <= distance) return true;
  }
  return false;
}

/** Whether a place is within an odd number of rings: in a polygon and in none of its holes. */
function holds(rings: readonly (readonly Place[])[], [x, y]: Place): boolean {
  let inside = false;
  for (const ring of rings) {
    for (let index = 0, before = ring.length - 1; index < ring.length; before = index, index += 1) {
      const [a, b] = [ring[index], ring[before]];
      if (!a || !b) continue;
      if (a[1] > y !== b[1] > y && x < ((b[0] - a[0]) * (y - a[1])) / (b[1] - a[1]) + a[0]) inside = !inside;
    }
  }
  return inside;
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
