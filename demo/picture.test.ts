import assert from "node:assert/strict";
import { test } from "node:test";
import { coloured, plain } from "./paint.ts";
import { draw, LEAST_COLUMNS, ROWS, type View } from "./picture.ts";
import { canDraw, paintFor } from "./screen.ts";
import { CONTROLLER_STEPS, STEPS } from "./steps.ts";

const attempt = (ended: number, answer: string | undefined, error?: string) => ({
  begun: ended - 1,
  ended,
  answer,
  error,
});

const VIEW: View = {
  vip: "241.0.1.7",
  attempts: [
    attempt(50, "c1/web-1"),
    attempt(300, "c2/web-1"),
    attempt(1_550, "c1/web-1"),
    attempt(1_600, "c1/web-2"),
    attempt(1_650, "c1/web-1"),
    attempt(1_700, "c1/web-1"),
  ],
  now: 2_000,
  began: 0,
  up: new Set(["c1", "c3"]),
  steps: STEPS,
  played: [],
  held: [{ name: "c3/web-1", count: 12, fault: "reset" }],
  rules: ["-A CSP-SVC-X -j DNAT"],
};

test("The picture always has the same rows, none wider than the terminal", () => {
  for (const columns of [LEAST_COLUMNS, 100, 200]) {
    const rules = Array.from({ length: 9 }, () => "-A ".repeat(99));
    const attempts = Array.from({ length: 99_999 }, () => attempt(89_900, "c1/web-1"));
    const wide = { ...VIEW, rules, attempts, now: 90_000 };
    for (const view of [VIEW, wide, { ...wide, steps: CONTROLLER_STEPS }]) {
      const lines = draw(view, columns, plain);
      assert.equal(lines.length, ROWS);
      for (const line of lines) assert.ok(line.length <= columns, `${line.length}: ${line}`);
    }
  }
});

test("Each server shows its share of the last second's answers, and whether it runs", () => {
  const text = draw(VIEW, 100, plain).join("\n");
  assert.match(
    text,
    /● web-1 10\.1\.0\.11 ready.*○ web-1 10\.2\.0\.11 stopped.*● web-1 10\.3\.0\.11 ready/,
  );
  assert.match(text, / 75 % .* 0 % .* 0 % /);
  assert.match(text, / 25 % /);
});

test("A rule that is too wide is shortened to its comment and its target", () => {
  const rule = `-A CSP-SVC-X -p tcp -m comment --comment "shop/web:http local c1" ${"-m x ".repeat(20)}-j DNAT`;
  const text = draw({ ...VIEW, rules: [rule] }, 80, plain).join("\n");
  assert.match(text, /^ … "shop\/web:http local c1" … -j DNAT$/m);
});

test("The timeline has a cell for each quarter of a second, with the server of most responses", () => {
  const [strip] = draw(VIEW, 100, plain).filter((line) => line.startsWith(" █▓"));
  assert.equal(strip?.trimEnd(), " █▓    █");
});

test("A broken held connection shows its error", () => {
  assert.match(draw(VIEW, 100, plain).join("\n"), /held to c3\/web-1: 12 lines, then reset/);
});

test("Colour is used on terminals without NO_COLOR", () => {
  const terminal = { isTTY: true, columns: 100, rows: 30, write: () => true };
  assert.equal(paintFor(terminal, {}), coloured);
  assert.equal(paintFor(terminal, { NO_COLOR: "1" }), plain);
  assert.equal(paintFor(terminal, { TERM: "dumb" }), plain);
  assert.equal(paintFor({ ...terminal, isTTY: false }, {}), plain);
});

test("The picture is drawn on terminals that are large enough; others get lines", () => {
  const terminal = { isTTY: true, columns: 80, rows: 24, write: () => true };
  assert.equal(canDraw(terminal, {}), true);
  assert.equal(canDraw({ ...terminal, rows: 23 }, {}), false);
  assert.equal(canDraw({ ...terminal, columns: 79 }, {}), false);
  assert.equal(canDraw({ ...terminal, isTTY: false }, {}), false);
});
