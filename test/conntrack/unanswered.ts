import assert from "node:assert/strict";
import type { Family } from "../../api/address.ts";
import type { Lab } from "../lab/lab.ts";
import { eventually } from "../support/agent-process.ts";
import { backendUnderTest } from "../support/kernel-under-test.ts";
import { ConntrackStage, VIP, VIP6 } from "./stage.ts";

// Endpoints that fall silent: packets to them are dropped, and nobody refuses them.

/** A client's connection that the endpoint has accepted, and whose SYN-ACK never got to the client. */
const HALF_OPEN = 4001;
const ABANDONED = 4002;
/** TCP sends a SYN again after 1, 3, 7 and 15 seconds, or more often. */
const PATIENCE = 30_000;

/**
 * A connect that a silent endpoint has not answered when it leaves is answered by another, or refused; the rest is let be.
 * `program`: instead of the agent of these sources.
 */
export async function assertRescue(program?: (lab: Lab) => Promise<string[]>): Promise<void> {
  await using stage = await ConntrackStage.create(program);
  stage.declare();
  await stage.agent.start();
  await stage.use(["a"]);
  const established = await stage.talk("tcp", 80);
  await established.line(/^a$/, PATIENCE);
  const [stands = ""] = await eventually(() => entriesIn(stage, ["ESTABLISHED"], 1));
  const deaf = ["-p", "tcp", "--dport", `${HALF_OPEN}`, "-j", "DROP"];
  await stage.pod("client").exec(["iptables", "-A", "INPUT", ...deaf]);
  const halfOpen = await stage.talk("tcp", 80, VIP, HALF_OPEN);
  const answered = await eventually(() => entriesIn(stage, ["ESTABLISHED", "SYN_RECV"], 2));

  await stage.kill("a");
  const clients = [await stage.talk("tcp", 80), await stage.talk("tcp", 80, VIP6)];
  const abandoned = await stage.talk("tcp", 80, VIP, ABANDONED);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 2));
  abandoned.signal("SIGKILL");
  await abandoned.exited;
  // It is listed still, and not ready: nothing leads to it any more.
  await stage.use(["b"], ["a"]);
  await Promise.all(clients.map((client) => client.line(/^b$/, PATIENCE)));
  await (await stage.talk("tcp", 80, VIP, ABANDONED)).line(/^b$/);

  assert.deepEqual(established.lines, ["talking", "connected", "a"]);
  assert.deepEqual(halfOpen.lines, ["talking"]);
  // Or it sends its SYN again, which then nobody answers: one entry more, sooner or later.
  await halfOpen.stop();
  const now = (await stage.entries()).map(({ id }) => id);
  // IPVS takes a SYN that is sent again as a new one, and forgets the connection of which the client has not heard.
  const stay = backendUnderTest() === "ipvs" ? [stands] : answered;
  for (const id of stay) assert.ok(now.includes(id), `${id} of ${stay.join()} is gone`);
  if (backendUnderTest() !== "ipvs") await assertDeleted(stage, { IPv4: 2, IPv6: 1 });

  await stage.kill("b");
  const last = [await stage.talk("tcp", 80), await stage.talk("tcp", 80, VIP6)];
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  await stage.use([]);
  await Promise.all(last.map((client) => client.line(/^ECONNREFUSED$/, PATIENCE)));
}

/** A restart rescues a connect whose endpoint left meanwhile, and a connect to an import that goes is refused. */
export async function assertRescueAtStart(): Promise<void> {
  await using stage = await ConntrackStage.create();
  stage.declare();
  await stage.agent.start();
  await stage.use(["a"]);
  await stage.kill("a");
  const rescued = await stage.talk("tcp", 80);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  await stage.agent.stop();
  stage.place(["b"]);
  await stage.agent.start();
  await rescued.line(/^b$/, PATIENCE);

  await stage.kill("b");
  const refused = await stage.talk("tcp", 80);
  await eventually(() => entriesIn(stage, ["SYN_SENT"], 1));
  stage.withdraw();
  await refused.line(/^ECONNREFUSED$/, PATIENCE);
}

/** How many entries the agent has deleted because nobody had answered. */
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
