import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FileState } from "./file-state.ts";
import { mistake } from "./mistake.ts";
import { type FileEvent, REST_MS, type Settling, settle } from "./settling.ts";

const file = (inode: string, version = "1", size = 9): FileState => {
  return { kind: "file", inode, version, size };
};
const GONE: FileState = { kind: "gone" };
const BAD: FileState = { kind: "fault", mistake: mistake("unreadable", "EACCES") };

/** The step of each of several checks, one every `ms` milliseconds. */
function steps(ms: number, ...checks: readonly [state: FileState, event?: FileEvent][]): string[] {
  let settling: Settling = { known: file("a") };
  return checks.map(([state, event], i) => {
    const { step, after } = settle(settling, state, event, i * ms);
    settling = after;
    return step;
  });
}

describe("settle", () => {
  const cases: [string, number, Parameters<typeof steps>[1][], string[]][] = [
    ["leaves alone what is the same", 1, [[file("a")], [file("a")]], ["nothing", "nothing"]],
    ["takes another file at once", 1, [[file("b"), "renamed"]], ["take"]],
    ["takes another file at once though no event told of it", 1, [[file("b")]], ["take"]],
    ["reads anew, after an event, what looks the same", 1, [[file("a"), "renamed"]], ["take"]],
    [
      "lets a changed file rest",
      REST_MS,
      [[file("a", "2")], [file("a", "2")], [file("a", "2")]],
      ["wait", "take", "nothing"],
    ],
    [
      "lets it rest again whenever it changes again",
      REST_MS,
      [[file("a", "2")], [file("a", "3")], [file("a", "3")]],
      ["wait", "wait", "take"],
    ],
    [
      "lets a file rest that was written to, even if it looks the same",
      REST_MS,
      [[file("a"), "modified"], [file("a"), "modified"], [file("a")]],
      ["wait", "wait", "take"],
    ],
    [
      "lets another file rest if it was written to under this name",
      REST_MS,
      [[file("b"), "modified"], [file("b")]],
      ["wait", "take"],
    ],
    [
      "lets another file rest if it is empty, which is how files come into being",
      REST_MS,
      [[file("b", "1", 0)], [file("b", "2")], [file("b", "2")]],
      ["wait", "wait", "take"],
    ],
    [
      "counts a rest from its beginning, however often it looks",
      REST_MS / 2,
      [[file("a", "2")], [file("a", "2")], [file("a", "2")]],
      ["wait", "wait", "take"],
    ],
    ["lets a missing file rest", REST_MS, [[GONE], [GONE], [GONE]], ["wait", "take", "nothing"]],
    [
      "lets a file rest that came after a moment without any",
      REST_MS,
      [[GONE], [file("b")], [file("b")]],
      ["wait", "wait", "take"],
    ],
    ["lets a fault rest", REST_MS, [[BAD], [BAD], [BAD]], ["wait", "take", "nothing"]],
    [
      "takes another file at once though the one before is still resting",
      1,
      [
        [file("a", "2"), "modified"],
        [file("b"), "renamed"],
      ],
      ["wait", "take"],
    ],
    [
      "forgets the rest of what is as it was again",
      1,
      [[GONE], [file("a")], [GONE]],
      ["wait", "nothing", "wait"],
    ],
  ];
  for (const [what, ms, looks, expected] of cases) {
    it(what, () => {
      const done = steps(ms, ...looks);
      // A name that is taken as gone is forgotten by the caller; here it stays known as gone.
      assert.deepEqual(done, expected);
    });
  }

  it("ignores a name that never existed", () => {
    assert.deepEqual(settle({}, GONE, "renamed", 0), { step: "nothing", after: {} });
  });
});
