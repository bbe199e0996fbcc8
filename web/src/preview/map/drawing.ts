// Draws features on a canvas, over lines of longitude and latitude.

import { type Bounds, type Feature, type Place, toDegrees, toPlace } from "./geojson";

/** What part of the plane a canvas shows: its middle, and pixels for each unit. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

const POINT_RADIUS = 5;
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
const MIN_STEP_PIXELS = 70;

/** Returns the view that shows some bounds on a canvas. */
export function fitted(bounds: Bounds, width: number, height: number): View {
  const across = Math.max(bounds.right - bounds.left, 1e-6);
  const down = Math.max(bounds.bottom - bounds.top, 1e-6);
  return {
    x: (bounds.left + bounds.right) / 2,
    y: (bounds.top + bounds.bottom) / 2,
    scale: 0.9 * Math.min(width / across, height / down),
  };
}

/** Returns the place at a point of a canvas. */
export function placeAt(view: View, left: number, top: number, width: number, height: number): Place {
  return [view.x + (left - width / 2) / view.scale, view.y + (top - height / 2) / view.scale];
}

/** Draws features; the selected one stands out. */
export function draw(
  canvas: HTMLCanvasElement,
  features: readonly Feature[],
  view: View,
  selected: number | undefined,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { width, height } = canvas;
  const ratio = devicePixelRatio;
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  // the variables of a theme are functions: a property resolves them
  const [accent, chosen] = [style.color, style.borderTopColor];
  const at = ([x, y]: Place): [number, number] => [
    (x - view.x) * view.scale * ratio + width / 2,
    (y - view.y) * view.scale * ratio + height / 2,
  ];
  context.clearRect(0, 0, width, height);
  context.font = `${11 * ratio}px ${colour("--sans") || "sans-serif"}`;
  drawGrid(context, view, at, { line: style.caretColor, text: style.textDecorationColor }, ratio);
  const order = features.map((_, index) => index).filter((index) => index !== selected);
  if (selected !== undefined) order.push(selected);
  for (const index of order) {
    const feature = features[index];
    if (!feature) continue;
    context.strokeStyle = context.fillStyle = index === selected ? chosen : accent;
    context.lineWidth = (index === selected ? 3 : 1.5) * ratio;
    drawFeature(context, feature, at, ratio);
  }
}

function drawFeature(
  context: CanvasRenderingContext2D,
  feature: Feature,
  at: (place: Place) => [number, number],
  ratio: number,
): void {
  const trace = (line: readonly Place[], close: boolean) => {
    line.forEach((place, index) => (index ? context.lineTo(...at(place)) : context.moveTo(...at(place))));
    if (close) context.closePath();
  };
  if (feature.rings.length) {
    context.beginPath();
    for (const ring of feature.rings) trace(ring, true);
    context.globalAlpha = 0.2;
    context.fill("evenodd");
    context.globalAlpha = 1;
    context.stroke();
  }
  for (const line of feature.lines) {
    context.beginPath();
    trace(line, false);
    context.stroke();
  }
  for (const point of feature.points) {
    context.beginPath();
    context.arc(...at(point), POINT_RADIUS * ratio, 0, 2 * Math.PI);
    context.globalAlpha = 0.7;
    context.fill();
    context.globalAlpha = 1;
  }
}

/** Draws lines of longitude and latitude, with their degrees, not too close to each other. */
function drawGrid(
  context: CanvasRenderingContext2D,
  view: View,
  at: (place: Place) => [number, number],
  colours: { line: string; text: string },
  ratio: number,
): void {
  const { width, height } = context.canvas;
  const [reachX, reachY] = [width / 2 / ratio / view.scale, height / 2 / ratio / view.scale];
  const [west, north] = toDegrees([view.x - reachX, view.y - reachY]);
  const [east, south] = toDegrees([view.x + reachX, view.y + reachY]);
  const step = STEPS.findLast((each) => (each / 360) * view.scale >= MIN_STEP_PIXELS) ?? STEPS[0] ?? 30;
  const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
  context.strokeStyle = colours.line;
  context.fillStyle = colours.text;
  context.lineWidth = ratio;
  const line = (from: [number, number], to: [number, number]) => {
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
  };
  for (let degrees = Math.ceil(west / step) * step; degrees <= east; degrees += step) {
    const [x] = at(toPlace(degrees, 0));
    line([x, 0], [x, height]);
    context.fillText(`${degrees.toFixed(digits)}°`, x + 4 * ratio, height - 6 * ratio);
  }
  for (let degrees = Math.ceil(south / step) * step; degrees <= north; degrees += step) {
    const [, y] = at(toPlace(0, degrees));
    line([0, y], [width, y]);
    context.fillText(`${degrees.toFixed(digits)}°`, 4 * ratio, y - 4 * ratio);
  }
}
