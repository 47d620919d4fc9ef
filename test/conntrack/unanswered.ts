import assert from "node:assert/strict";
import type { Family } from "../../api/address.ts";
import { BACKEND } from "../backends.ts";
import type { Lab } from "../lab/lab.ts";
import { eventually } from "../stages/agent-process.ts";
import { ConntrackStage, VIP, VIP6 } from "./stage.ts";

// Silent endpoints: packets to them are dropped, without an error.

/** Source port of a connection whose SYN-ACK is lost. */
const HALF_OPEN = 4001;
const ABANDONED = 4002;
/** TCP resends a SYN after 1, 3, 7 and 15 seconds, or more often. */
const PATIENCE = 30_000;

/**
 * When a silent endpoint is removed, its unanswered connects reach another endpoint or are rejected; other connections stay.
 * `program`: instead of the agent of these sources.
 */
export async function assertUnanswered(program?: (lab: Lab) => Promise<string[]>): Promise<void> {
  await using stage = await ConntrackStage.start({}, { program });
  await stage.use(["a"]);
  const established = await stage.startClient("tcp", 80);
  await established.line(/^a$/, PATIENCE);
  const [establishedId = ""] = await eventually(() => entriesIn(stage, ["ESTABLISHED"], 1));
  const dropped = ["-p", "tcp", "--dport", `${HALF_OPEN}`, "-j", "DROP"];
  await stage.pod("client").exec(["iptables", "-A", "INPUT", ...dropped]);
  const halfOpen = await stage.startClient("tcp", 80, VIP, HALF_OPEN);
  const answered = await eventually(() => entriesIn(stage, ["ESTABLISHED", "SYN_RECV"], 2));

  await stage.kill("a");
  const clients = [await stage.startClient("tcp", 80), await stage.startClient("tcp", 80, VIP6)];
  const abandoned = await stage.startClient("tcp", 80, VIP, ABANDONED);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 2));
  abandoned.signal("SIGKILL");
  await abandoned.exited;
  await stage.use(["b"], ["a"]);
  await Promise.all(clients.map((client) => client.line(/^b$/, PATIENCE)));
  await (await stage.startClient("tcp", 80, VIP, ABANDONED)).line(/^b$/);

  assert.deepEqual(established.lines, ["started", "connected", "a"]);
  assert.deepEqual(halfOpen.lines, ["started"]);
  // Otherwise it resends its SYN, which adds an entry.
  await halfOpen.stop();
  const now = (await stage.entries()).map(({ id }) => id);
  // IPVS schedules a resent SYN again, and deletes the half-open connection.
  const stay = BACKEND.name === "ipvs" ? [establishedId] : answered;
  for (const id of stay) assert.ok(now.includes(id), `${id} of ${stay.join()} is gone`);
  if (BACKEND.name !== "ipvs") await assertDeleted(stage, { IPv4: 2, IPv6: 1 });

  await stage.kill("b");
  const last = [await stage.startClient("tcp", 80), await stage.startClient("tcp", 80, VIP6)];
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  await stage.use([]);
  await Promise.all(last.map((client) => client.line(/^ECONNREFUSED$/, PATIENCE)));
}

/** After a restart, a connect to an endpoint removed meanwhile reaches another; a connect to a deleted import is rejected. */
export async function assertUnansweredAtStart(): Promise<void> {
  await using stage = await ConntrackStage.start();
  await stage.use(["a"]);
  await stage.kill("a");
  const moved = await stage.startClient("tcp", 80);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  await stage.agent.stop();
  stage.writeSlices(["b"]);
  await stage.agent.start();
  await moved.line(/^b$/, PATIENCE);

  await stage.kill("b");
  const rejected = await stage.startClient("tcp", 80);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  stage.removeImport();
  await rejected.line(/^ECONNREFUSED$/, PATIENCE);
}

/** The agent has deleted so many unanswered entries. */
async function assertDeleted(
  stage: ConntrackStage,
  counts: Readonly<Record<Family, number>>,
): Promise<void> {
  const metrics = await stage.agent.page("/metrics");
  for (const [family, count] of Object.entries(counts)) {
    const labels = `{family="${family}",protocol="TCP",reason="unanswered"}`;
    assert.match(metrics, new RegExp(`deleted_entries_total${labels} ${count}\\n`));
  }
}

/** The ids of the TCP entries for the VIP that are in one of these states. Throws unless they are `count`. */
async function entriesIn(
  stage: ConntrackStage,
  states: readonly string[],
  count: number,
): Promise<string[]> {
  const lines = (await stage.entries()).filter(({ text }) => text.startsWith("tcp"));
  const found = lines.filter(({ text }) => states.some((state) => text.includes(` ${state} `)));
  assert.equal(found.length, count, lines.map(({ text }) => text).join("\n"));
  return found.map(({ id }) => id);
}
