import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { IDLE } from "../../test/doubles/idle-reflector.ts";
import { cidr } from "../../test/generators/facts.ts";
import type { RangeOverlap } from "../allocate/overlaps.ts";
import type { Follow } from "../stores/informer.ts";
import { LocalStores } from "../stores/local-stores.ts";
import { AddressRanges } from "./address-ranges.ts";
import { LocalNodes } from "./local-nodes.ts";
import { TakenAddresses } from "./taken-addresses.ts";

const ignore = () => undefined;

test("thousands of Nodes that are listed one by one are compared with the ClusterSet CIDR once, not once for each", async () => {
  const clusterSetCidrs = [cidr("241.0.0.0/16")];
  const config = {
    ...{ namespace: "clusterset-proxy", startupTaint: "restarted-nodes" as const },
    ...{ clusterSetCidrs, podCidrs: [], serviceCidrs: [] },
  };
  const found: (readonly RangeOverlap[])[] = [];
  const events = {
    ...{ problems: ignore, connection: ignore },
    overlapping: (overlaps: readonly RangeOverlap[]) => void found.push(overlaps),
  };
  let list: (name: string, object: object) => void = ignore;
  const follow: Follow = ({ resource }, to) => {
    if (resource === "nodes") list = (name, object) => to.changed(name, object, 0);
    return IDLE;
  };
  const none = { dirty: ignore, slices: ignore, taken: ignore, namespace: ignore };
  const own = new LocalStores(
    { clusterSetCidrs: [], explicitVipCidrs: [] },
    { ...none, property: ignore, problems: ignore, room: ignore },
  );
  let compared = 0;
  const nodes: LocalNodes = new LocalNodes({
    ...{ config, clock: new FakeClock(), follow, dirty: ignore, events },
    ranges: () => ranges.compareSoon(),
  });
  const facts = () => {
    compared++;
    return nodes.facts();
  };
  const addresses = new TakenAddresses(clusterSetCidrs);
  const ranges = new AddressRanges({ config, own, addresses, nodes: facts, follow, events });
  compared = 0;
  for (let i = 0; i < 2000; i++) {
    const podCIDRs = i === 1999 ? ["241.0.7.0/24"] : [];
    list(`n${i}`, { metadata: { name: `n${i}` }, spec: { podCIDRs } });
  }
  await setImmediate();
  assert.equal(compared, 1);
  const overlaps = found.map((overlaps) => overlaps.map((one) => one.with.text));
  assert.deepEqual(overlaps, [["241.0.7.0/24"]]);
  const reserved = addresses.pool.reserved.map(({ text }) => text);
  assert.deepEqual(reserved, ["241.0.7.0/24"]);
});
