import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";

/**
 * By name: an object, or what is particular about it, what its fact has besides that of the plain object (undefined: it has no fact), and each
 * problem as `reason field`.
 */
export type ParseCases<Given = unknown> = Readonly<
  Record<string, readonly [object: Given, fact: object | undefined, ...problems: string[]]>
>;

interface Parsed {
  readonly fact?: object | undefined;
  readonly problems: readonly Problem[];
}

/** One test for each case; `plain`: the fact of the plain object. */
export function testCases<Given>(
  cases: ParseCases<Given>,
  parse: (object: Given) => Parsed,
  plain: object,
): void {
  for (const [name, [object, fact, ...problems]] of Object.entries(cases)) {
    test(`${name}: ${fact === undefined ? "rejected" : "accepted"}`, () => {
      const parsed = parse(object);
      assert.deepEqual(parsed.fact, fact && { ...plain, ...fact });
      const found = parsed.problems.map(({ reason, field }) => `${reason} ${field}`);
      assert.deepEqual(found, problems);
    });
  }
}
