/** The steps of docs/guides/clusterset-cidr.md: controllers in memory, and every packet of a node at every moment of each rollout. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LABEL_SERVICE_NAME } from "../../api/keys.ts";
import { MODELLED } from "../backends.ts";
import { at, type Fields } from "../doubles/memory/fields.ts";
import { cidr } from "../generators/facts.ts";
import { ControllerWorld, type MemoryCluster } from "../stages/controller-world.ts";
import { addressAt, homeFact } from "./address-plan.ts";
import { modelOf, planOf } from "./rendered.ts";

const OLD = "241.4.0.0/16";
const NEW = "242.4.0.0/16";
const GUIDE = readFileSync(
  new URL("../../docs/guides/clusterset-cidr.md", import.meta.url),
  "utf8",
);
/** `--clusterset-cidr` before the first step, and in each step of the guide, for controllers and agents alike. */
const STEPS = [OLD, ...GUIDE.matchAll(/^range \S+ (\S+)$/gm).map(([, ranges = ""]) => ranges)];
assert.equal(STEPS.length, 4);

const KEY = "shop/web";
const POD = "c1/n1/a";

/** Two clusters, of which c1, where the node is, exports a Service. Both have the flags of the first step. */
async function beginning(onHub: boolean, ranges = STEPS[0] ?? "") {
  const { world, c1 } = ControllerWorld.of(["c1", "c2"], undefined, onHub);
  for (const cluster of world.clusters) cluster.ranges = ranges;
  c1.offer(KEY, [addressAt(POD, "IPv4")]);
  await world.run(20_000);
  return { world, c1 };
}

/** Restarts the controllers with these ranges, as a rollout does. */
async function rollOut(world: ControllerWorld, ranges: string): Promise<void> {
  for (const cluster of world.clusters) {
    cluster.ranges = ranges;
    await cluster.restart();
    await world.pass(20_000);
  }
}

/** What DNS returns for the import. */
function namedBy(cluster: MemoryCluster): string[] {
  return (at(cluster.server.objects.get("serviceimports", KEY), ["spec", "ips"]) ?? []) as string[];
}

/** Addresses that have an IPAddress. */
function heldBy({ server: { objects } }: MemoryCluster): unknown[] {
  return objects.list("ipaddresses").map((one) => at(one, ["metadata", "name"]));
}

/** What an agent of the cluster lists. */
function objectsOf({ server: { objects } }: MemoryCluster): Fields[] {
  const slices = objects.list("endpointslices");
  return [
    ...objects.list("serviceimports").filter((one) => at(one, ["metadata", "name"]) === "web"),
    ...slices.filter((one) => at(one, ["metadata", "labels", LABEL_SERVICE_NAME]) !== undefined),
    ...objects.list("ipaddresses").map((one) => ({ kind: "IPAddress", ...one })),
  ];
}

/** Where a node whose agent has these ranges sends connections to the VIPs: `sent`, `rejected` or `untouched`. */
function fates(
  backend: (typeof MODELLED)[number],
  objects: readonly Fields[],
  ranges: string,
  vips: readonly string[],
): Record<string, string> {
  const node = {
    ...homeFact(),
    clusterSetCidrs: ranges.split(",").map(cidr),
    explicitVipCidrs: [],
  };
  const services = planOf(modelOf(objects, node), node);
  const kernel = backend.program({ services, family: "IPv4", node, masquerade: "none" });
  const fateOf = (destination: string) => {
    const source = addressAt("c1/n1/client", "IPv4");
    const found = kernel.trace({ from: "pod", source, destination, protocol: "tcp", port: 80 });
    return found.map(({ fate }) => fate.fate).join();
  };
  return Object.fromEntries(vips.map((vip) => [vip, fateOf(vip)]));
}

for (const onHub of [false, true]) {
  test(`${onHub ? "on a hub" : "in a mesh"}: at each step, all VIPs that DNS returns now or returned before are served, until the last one`, async () => {
    const { world, c1 } = await beginning(onHub);
    const history = [namedBy(c1)];
    for (const [i, ranges] of STEPS.entries()) {
      if (i === 0) continue;
      const before = { ranges: STEPS[i - 1] ?? "", objects: objectsOf(c1), names: namedBy(c1) };
      await rollOut(world, ranges);
      const after = { ranges, objects: objectsOf(c1), names: namedBy(c1) };
      history.push(after.names);
      const since = c1.server.writes.length;
      await rollOut(world, ranges);
      assert.deepEqual(objectsOf(c1), after.objects, "another restart changes nothing");
      const kinds = new Set(c1.writesAfter(since).map(({ kind }) => kind));
      assert.ok(!kinds.has("serviceimports") && !kinds.has("ipaddresses"));
      const both = [...new Set([...before.names, ...after.names])];
      // Agents and controllers restart in any order.
      for (const [objects, vips] of [
        [before.objects, before.names],
        [after.objects, both],
      ] as const) {
        for (const agent of [before.ranges, after.ranges]) {
          for (const backend of MODELLED) {
            const served = Object.fromEntries(vips.map((vip) => [vip, "sent"]));
            const where = `${backend.name}: agents ${agent}, step ${ranges}`;
            assert.deepEqual(fates(backend, objects, agent, vips), served, where);
          }
        }
      }
    }
    const ranges = history.map((names) => names.map((name) => `${name.split(".")[0]}`).join());
    assert.deepEqual(ranges, ["241", "241", "242", "242"]);
    // After the last step, the old VIP is rejected while agents have its range, then it is no VIP; its IPAddress is deleted.
    const [[old = ""] = []] = history;
    for (const backend of MODELLED) {
      const of = (ranges: string) => fates(backend, objectsOf(c1), ranges, [old]);
      assert.deepEqual(of(`${NEW},${OLD}`), { [old]: "rejected" }, backend.name);
      assert.deepEqual(of(NEW), { [old]: "untouched" }, backend.name);
    }
    assert.deepEqual(heldBy(c1), namedBy(c1));
    await world.stop();
  });
}

test("the second step can be taken back: the old VIP is returned again, and both are served", async () => {
  const { world, c1 } = await beginning(false);
  const [old = ""] = namedBy(c1);
  for (const ranges of STEPS.slice(1, 3)) await rollOut(world, ranges);
  const [moved = ""] = namedBy(c1);
  assert.notEqual(moved, old);
  await rollOut(world, `${OLD},${NEW}`);
  assert.deepEqual(namedBy(c1), [old]);
  for (const backend of MODELLED) {
    const found = fates(backend, objectsOf(c1), `${OLD},${NEW}`, [old, moved]);
    assert.deepEqual(found, { [old]: "sent", [moved]: "sent" }, backend.name);
  }
  await rollOut(world, OLD);
  assert.deepEqual(namedBy(c1), [old]);
  await world.stop();
});

test("without a step with both ranges, the VIP stays, as agents may serve it, until the import is deleted", async () => {
  const { world, c1 } = await beginning(false);
  const before = namedBy(c1);
  await rollOut(world, NEW);
  assert.deepEqual(namedBy(c1), before);
  assert.equal(c1.condition("serviceimports", KEY).reason, "VIPNotAllowed");
  for (const backend of MODELLED) {
    const [old = ""] = before;
    assert.deepEqual(fates(backend, objectsOf(c1), OLD, [old]), { [old]: "sent" }, backend.name);
  }
  c1.delete("ServiceImport", KEY);
  await world.pass(20_000);
  const [vip = ""] = namedBy(c1);
  assert.match(vip, /^242\.4\./);
  const { status, message } = c1.condition("serviceimports", KEY);
  assert.deepEqual([status, message], ["True", `ClusterSetIP ${vip}.`]);
  assert.deepEqual(heldBy(c1), [vip]);
  await world.stop();
});

test("a deleted import comes back with both VIPs while the range changes", async () => {
  const { world, c1 } = await beginning(false);
  const [old = ""] = namedBy(c1);
  for (const ranges of STEPS.slice(1, 3)) await rollOut(world, ranges);
  const [vip = ""] = namedBy(c1);
  c1.delete("ServiceImport", KEY);
  await world.pass(20_000);
  for (const backend of MODELLED) {
    const found = fates(backend, objectsOf(c1), `${NEW},${OLD}`, [old, vip]);
    assert.deepEqual(found, { [old]: "sent", [vip]: "sent" }, backend.name);
  }
  await world.stop();
});
