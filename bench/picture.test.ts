import assert from "node:assert/strict";
import { test } from "node:test";
import { type Line, pictureOf } from "./picture.ts";

function line(label: string, p50s: readonly number[], ours = true): Line {
  const sizes = [1, 1_000, 10_000];
  const points = p50s.map((p50, i) => ({ services: sizes[i] ?? 0, p50, p99: 2 * p50 }));
  return { label, ours, points };
}

const LINES = [
  line("ours", [1, 1, 1]),
  line("slow", [10, 100, 1_000]),
  line("kube-proxy", [10, 100, 1_010], false),
];

/** The points of each line. */
function placesOf(svg: string): [number, number][][] {
  return [...svg.matchAll(/ points="([^"]*)"/g)].map(([, points = ""]) =>
    points.split(" ").map((one) => one.split(",").map(Number) as [number, number]),
  );
}

test("Ten times as long is one grid line higher, and ten times as many services are as far as any", () => {
  const svg = pictureOf(LINES, "caption");
  const [flat = [], steep = []] = placesOf(svg);
  assert.equal(new Set(flat.map(([, y]) => y)).size, 1);
  const grid = [...svg.matchAll(/class="grid".* y1="([\d.]+)"/g)].map(([, y]) => Number(y));
  assert.deepEqual(
    steep.map(([, y]) => grid.indexOf(y)),
    [2, 3, 4],
  );
  const [first, second, third] = steep.map(([x]) => x);
  const decade = ((second ?? 0) - (first ?? 0)) / 3;
  assert.ok(Math.abs((third ?? 0) - (second ?? 0) - decade) < 0.2);
});

test("The grid reaches from a tenth of a millisecond to above the slowest p99", () => {
  const labels = (slowest: number) =>
    [...pictureOf([line("one", [slowest])], "").matchAll(/>([\d.]+ m?s)</g)].map(([, one]) => one);
  assert.deepEqual(labels(4), ["0.1 ms", "1 ms", "10 ms"]);
  assert.deepEqual(labels(4_000).slice(-2), ["1 s", "10 s"]);
});

test("A change that was seen before its acknowledgement is drawn at the lowest grid line", () => {
  const [[[, y] = [0, 0]] = []] = placesOf(pictureOf([line("one", [0, 0.01, 5])], ""));
  assert.equal(y, 372);
});

test("A line that ends before the others says with how many services", () => {
  const svg = pictureOf([line("all", [1, 1, 1]), line("some", [2, 3])], "");
  assert.match(svg, />3\.0 ms, p99 6\.0 ms with 1,000</);
  assert.match(svg, />1\.0 ms, p99 2\.0 ms</);
});

test("Labels of lines that end at the same height do not overlap", () => {
  for (const end of [0.1, 1, 50]) {
    const svg = pictureOf(
      ["a", "b", "c", "d"].map((label) => line(`end-${label}`, [1, 1, end])),
      "",
    );
    const heights = [...svg.matchAll(/ y="([\d.]+)">end-/g)].map(([, y]) => Number(y));
    heights.sort((a, b) => a - b);
    assert.equal(heights.length, 4);
    for (const [i, height] of heights.entries())
      assert.ok(i === 0 || height - (heights[i - 1] ?? 0) >= 30, heights.join(" "));
    assert.ok((heights.at(-1) ?? 0) < 400, heights.join(" "));
  }
});

test("The picture has colours for dark mode, dashes for other programs, and words for those who do not see it", () => {
  const svg = pictureOf(LINES, "a < b");
  assert.match(svg, /@media \(prefers-color-scheme: dark\) \{\s+text \{ fill: #/);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 1);
  assert.match(svg, /<desc>ours: 1\.0 ms with 1, 1\.0 ms with 1,000, 1\.0 ms with 10,000\. slow: /);
  assert.match(svg, />a &lt; b</);
});

test("Nothing is drawn of nothing", () => {
  assert.throws(() => pictureOf([], ""), /nothing to draw/);
});
