import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Attempt, parseAttempt, placeOf } from "../../demo/attempt.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { Process } from "../lab/process.ts";
import { request, serve } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";
import { AgentStage } from "./agent-stage.ts";

const VIP = "241.0.1.7";
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const SERVERS = [
  { cluster: "c1", region: "eu-west", address: "10.1.0.11" },
  { cluster: "c2", region: "eu-west", address: "10.2.0.11" },
  { cluster: "c3", region: "us-east", address: "10.3.0.11" },
] as const;

let stage: AgentStage;
let client: Process;
const attempts: Attempt[] = [];

before(async () => {
  stage = await AgentStage.open({
    crds: "all",
    flags: ["--cluster-id", "c1", "--region", "eu-west"],
    pods: { client: ["10.1.0.20"], web: ["10.1.0.11"] },
    others: SERVERS.slice(1).map(({ cluster, address }) => {
      return { id: cluster, nodes: [{ name: "n1", pods: { web: [address] } }] };
    }),
  });
  for (const { cluster } of SERVERS) {
    const web = stage.lab.pod(cluster, "n1", "web");
    await web.spawn(serve("--name", `${cluster}/web`)).line(/serving/);
    await write(cluster, true);
  }
  await stage.plane.admin.create(importObject("shop/web", [VIP], [HTTP]));
  await stage.restartAgent();
  // Until the test stops it, however long that takes; an attempt that hangs is one that a busy machine does not explain.
  const limits = ["--rate", "100", "--for", "600", "--timeout", "10000"];
  const argv = request(...limits, `tcp://${VIP}:80`);
  client = stage.lab.pod("c1", "n1", "client").spawn(argv);
  client.onLine((line) => {
    const attempt = parseAttempt(line);
    if (attempt !== undefined) attempts.push(attempt);
  });
});
after(() => stage[Symbol.asyncDispose]());

/** Writes a cluster's slice to the API server: its endpoint is ready, or not. */
async function write(cluster: string, ready: boolean): Promise<void> {
  const { region, address } = SERVERS.find((one) => one.cluster === cluster) ?? SERVERS[0];
  const endpoint = { addresses: [address], conditions: { ready, serving: ready } };
  const port = { ...HTTP, port: 8080 };
  const origin = { cluster, region };
  await stage.plane.admin.apply(
    sliceObject(`web-${cluster}`, "shop/web", origin, [port], [endpoint]),
  );
}

/** Waits until the latest connections all came to one place; gives those since `from` that came nowhere. */
async function settled(wanted: string, from: number): Promise<string[]> {
  await eventually(() => {
    const places = attempts.slice(-20).map((attempt) => placeOf(attempt));
    const told = `not ${wanted}: ${places.join()}\n${stage.agent.log}`;
    assert.ok(attempts.length >= from + 20 && places.every((one) => one === wanted), told);
  });
  return attempts.slice(from).flatMap(({ error }) => error ?? []);
}

/** What is written, and where every new connection comes to because of it. */
const DRILL = [
  ["c1", true, "c1"],
  ["c1", false, "c2"],
  ["c2", false, "c3"],
  ["c3", false, "refused"],
  ["c3", true, "c3"],
  ["c2", true, "c2"],
  ["c1", true, "c1"],
] as const;

test("Failover by API objects: local, regional, global, rejected, and back; no other connection fails or hangs", async () => {
  for (const [cluster, ready, wanted] of DRILL) {
    const from = attempts.length;
    await write(cluster, ready);
    const errors = await settled(wanted, from);
    const allowed = wanted === "refused" || cluster === "c3" ? ["refused"] : [];
    assert.deepEqual(
      errors.filter((error) => !allowed.includes(error)),
      [],
      `${cluster} ready: ${ready}`,
    );
  }
});

test("While the API server is down, connections continue; changes are programmed after its return", async () => {
  const from = attempts.length;
  await stage.plane.kill();
  await stage.untilSeen("unreachable");
  assert.deepEqual(await settled("c1", from), []);
  await stage.plane.start();
  const began = attempts.length;
  await write("c1", false);
  assert.deepEqual(await settled("c2", began), []);
  await client.stop();
  assert.deepEqual([...new Set(attempts.slice(from).map(placeOf))], ["c1", "c2"]);
});
