import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { placeOf } from "../../demo/attempt.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import { GuideShell } from "./guide-shell.ts";

// The shares of docs/guides/migrate-old-cluster.md, counted: c1 is the old cluster, with a client, and c2 the new one. The whole
// guide is followed on real clusters (test/e2e/migrate-old-cluster.test.ts).

const GUIDE = "migrate-old-cluster.md";
/** Longer than this takes. */
const STREAM_SECONDS = 120;
/** Connections whose shares are counted: with 500, a share of 10 % is 3 to 20 % but once in a million runs. */
const COUNTED = 500;

let stage: ClusterSetStage;
let user: CommandLine;
let shell: GuideShell;

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

test("of a hundred connections a second, the new cluster gets none with weights 100 to 0, a tenth with 90 to 10, and all with 0 to 100; none fails", async () => {
  await shell.follow(GUIDE, "Export from the old cluster");
  const { spec } = await stage.cluster("c1").untilImported(SERVICE, ["10.1.0.11", "10.2.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  const client = stage.connect(vip, STREAM_SECONDS);
  const settled = (cluster: string) =>
    client.settled(cluster, client.attempts.length, () => stage.log);
  assert.deepEqual(await settled("c1"), []);
  await shell.follow(GUIDE, "Try the new cluster with a few");
  await eventually(() => {
    assert.ok(client.attempts.slice(-100).some((one) => placeOf(one) === "c2"));
  });
  const from = client.attempts.length;
  await eventually(() => assert.ok(client.attempts.length >= from + COUNTED), 20_000);
  const counted = client.attempts.slice(from, from + COUNTED);
  const share = counted.filter((one) => placeOf(one) === "c2").length / COUNTED;
  assert.ok(share > 0.03 && share < 0.2, String(share));
  await shell.follow(GUIDE, "Send all to the new cluster");
  assert.deepEqual(await settled("c2"), []);
  await client.finish();
  const broken = client.attempts.flatMap(({ error }) => error ?? []);
  assert.deepEqual(broken, []);
});
