import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AgentState,
  changedTaints,
  decideTaint,
  type NodeSituation,
  taintEvents,
} from "./startup-taint.ts";

const TIMEOUT = 300_000;
const OURS = { key: "clusterset-proxy.io/agent-not-ready", effect: "NoSchedule" };
const OTHER = { key: "example.com/gpu", value: "a", effect: "NoExecute", timeAdded: "2026-01-01" };

function situation(agent: AgentState, times: Partial<NodeSituation> = {}): NodeSituation {
  return { isTainted: false, agent, taintedFor: 0, restartedFor: undefined, ...times };
}

/** A node that has had the taint for so many seconds. */
const tainted = (agent: AgentState, seconds: number) =>
  situation(agent, { isTainted: true, taintedFor: seconds * 1000 });
/** A node that has restarted so many seconds ago. */
const restarted = (agent: AgentState, seconds: number) =>
  situation(agent, { restartedFor: seconds * 1000 });

for (const [what, given, wanted] of [
  ["a node with a ready agent", tainted("ready", 1), "removes: agent-ready"],
  ["a node with a ready agent, late", tainted("ready", 299), "removes: agent-ready"],
  ["a new node", tainted("not-ready", 0), "keeps: agent-awaited, until 60"],
  ["a new node without an agent's pod", tainted("missing", 59), "keeps: agent-awaited, until 60"],
  ["a node that has waited for a minute", tainted("not-ready", 60), "keeps: agent-late, until 300"],
  ["a node that has waited long enough", tainted("not-ready", 300), "removes: agent-overdue"],
  ["a node that no agent runs on", tainted("missing", 300), "removes: agent-overdue"],
  ["a node in use whose agent restarts", situation("not-ready"), "keeps none: node-in-use"],
  ["a node in use without an agent", situation("missing"), "keeps none: node-in-use"],
  ["a restarted node", restarted("not-ready", 0), "adds: node-restarted"],
  ["a restarted node, long ago", restarted("not-ready", 300), "keeps none: node-in-use"],
  ["a restarted node with a ready agent", restarted("ready", 0), "keeps none: agent-ready"],
  ["a restarted node that no agent runs on", restarted("missing", 0), "keeps none: node-in-use"],
] as const) {
  test(`the startup taint of ${what}: ${wanted}`, () => {
    const { reason, isTainted, next } = decideTaint(given, TIMEOUT);
    const verb = given.isTainted
      ? isTainted
        ? "keeps"
        : "removes"
      : isTainted
        ? "adds"
        : "keeps none";
    const until = next === undefined ? "" : `, until ${(given.taintedFor + next) / 1000}`;
    assert.equal(`${verb}: ${reason}${until}`, wanted);
  });
}

test("only the startup taint is added and removed, whatever its effect; other taints stay as they are", () => {
  assert.deepEqual(changedTaints([OTHER], true), [OTHER, OURS]);
  assert.deepEqual(changedTaints([OURS, OTHER], false), [OTHER]);
  assert.deepEqual(changedTaints([{ ...OURS, effect: "NoExecute" }], false), []);
  assert.equal(changedTaints([OTHER], false), undefined);
  assert.equal(changedTaints([OURS], true), undefined);
});

test("Events say why a node waits, and that it no longer does", () => {
  const late = decideTaint(tainted("missing", 60), TIMEOUT);
  assert.match(String(taintEvents(late, "missing", TIMEOUT)[0]?.message), /no pod .* 60 seconds/);
  const overdue = decideTaint(tainted("not-ready", 300), TIMEOUT);
  assert.match(
    String(taintEvents(overdue, "not-ready", TIMEOUT)[0]?.message),
    /not ready after 300 seconds.* removes/,
  );
  assert.deepEqual(taintEvents(decideTaint(tainted("ready", 1), TIMEOUT), "ready", TIMEOUT), []);
});
