import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { placeOf } from "../demo/attempt.ts";
import type { Held } from "../demo/held.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import type { Connections } from "./connections.ts";
import { GuideShell } from "./guide-shell.ts";
import { SLICE } from "./staged-cluster.ts";

// docs/guides/migrate-old-cluster.md, block by block: c1 is the old cluster, with a client, and c2 the new one. The client
// opens a hundred connections a second from begin to end, and holds one open.

const GUIDE = "migrate-old-cluster.md";
/** Longer than the guide takes. */
const STREAM_SECONDS = 240;
/** Connections whose shares are counted: with 500, a share of 10 % is 3 to 20 % but once in a million runs. */
const COUNTED = 500;

let stage: ClusterSetStage;
let user: CommandLine;
let shell: GuideShell;
let client: Connections;
let held: Held;

before(async () => {
  stage = await ClusterSetStage.open();
  const [c1, c2] = [stage.cluster("c1").plane, stage.cluster("c2").plane];
  const admin = { user: "admin" };
  user = new CommandLine({ c1: c1.inlineKubeconfig(admin), c2: c2.inlineKubeconfig(admin) });
  shell = new GuideShell({
    kubeconfig: user.kubeconfig,
    through: stage.lab.node("c1", "control-plane").within,
    adapt: (text) => text.replaceAll(/\b(old|new)\b/g, (id) => (id === "old" ? "c1" : "c2")),
  });
});
after(async () => {
  user?.[Symbol.dispose]();
  await stage?.[Symbol.asyncDispose]();
});

/** The latest connections all came to one cluster, and none failed since the begin. */
async function settled(cluster: string): Promise<void> {
  const errors = await client.settled(cluster, client.attempts.length, () => stage.log);
  assert.deepEqual(errors, []);
  assertUnbroken();
}

function assertUnbroken(): void {
  const broken = client.attempts.flatMap(({ error }) => error ?? []);
  assert.deepEqual(broken, []);
  assert.equal(held.fault, undefined);
}

test("with weights 100 to 0, the old cluster gets all connections, also when the new one exports", async () => {
  await shell.follow(GUIDE, "Export from the old cluster");
  const { spec } = await stage.cluster("c1").untilImported(SERVICE, ["10.1.0.11", "10.2.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  client = stage.connect(vip, STREAM_SECONDS);
  held = await client.hold();
  assert.equal(held.name, "c1/web");
  await settled("c1");
});

test("the Service's own ClusterIP gets a slice with the new cluster's endpoint, for when the old one has none", async () => {
  await shell.follow(GUIDE, "Move clients to the clusterset's name");
  const manager = "cluster-ip-failover.clusterset-proxy.io";
  await eventually(async () => {
    const label = `endpointslice.kubernetes.io/managed-by=${manager}`;
    const slices = await stage.cluster("c1").list(SLICE, "shop", label);
    const endpoints = slices.flatMap((one) => one.endpoints as { addresses: string[] }[]);
    assert.deepEqual(
      endpoints.flatMap(({ addresses }) => addresses),
      ["10.2.0.11"],
    );
  });
});

test("with weights 90 to 10, the new cluster gets a tenth", async () => {
  await shell.follow(GUIDE, "Try the new cluster with a few");
  await eventually(() => {
    assert.ok(client.attempts.slice(-100).some((one) => placeOf(one) === "c2"));
  });
  const from = client.attempts.length;
  await eventually(() => assert.ok(client.attempts.length >= from + COUNTED), 20_000);
  const counted = client.attempts.slice(from, from + COUNTED);
  const share = counted.filter((one) => placeOf(one) === "c2").length / COUNTED;
  assert.ok(share > 0.03 && share < 0.2, String(share));
  assertUnbroken();
});

test("with weights 0 to 100, the new cluster gets all, and a connection that was established stays", async () => {
  await shell.follow(GUIDE, "Send all to the new cluster");
  await settled("c2");
});

test("the old cluster is scaled to zero, drained, and withdraws its export; no connection fails from begin to end", async () => {
  await stage.scale("c1", false);
  await settled("c2");
  await shell.follow(GUIDE, "Drain the old cluster");
  await settled("c2");
  await shell.follow(GUIDE, "Withdraw and leave");
  await settled("c2");
  await client.finish();
  assertUnbroken();
  assert.ok(client.attempts.length > 1000);
  await held.close();
  assert.deepEqual(shell.left(GUIDE), []);
});
