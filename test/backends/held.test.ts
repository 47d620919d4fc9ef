import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { HeldPort } from "../../agent/backends/backend.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { destination } from "../../agent/plan/virtual-service.ts";
import { BACKENDS } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { NodeStage } from "../stages/node-stage.ts";

const PORTS = [
  { name: "http", port: 80, protocol: "TCP" },
  { name: "dns", port: 53, protocol: "UDP" },
];
const RANGES = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];

/** An import and a slice of two clusters; `more`: of its metadata and spec. */
function objects(name: string, last: number, addresses: readonly string[], more: object = {}) {
  const vips = [`241.0.1.${last}`, `fd00:241::${last}`];
  const web = importObject(`shop/${name}`, vips, PORTS, more);
  const slices = ["c1", "c2"].map((cluster, i) =>
    sliceObject(
      `${name}-${cluster}`,
      `shop/${name}`,
      { cluster, region: "eu" },
      PORTS,
      addresses.map((address) => address.replace("X", String(i + 1))),
    ),
  );
  return [web, ...slices];
}

for (const backend of BACKENDS) {
  describe(`what the kernel holds, ${backend.title}`, () => {
    let stage: NodeStage;
    before(async () => {
      stage = await NodeStage.create({ backend, flags: () => RANGES });
      stage.manifests.write(
        "all",
        ...objects("plain", 1, ["10.X.0.11", "10.X.0.12"]),
        ...objects("sticky", 2, ["10.X.0.11"], { sessionAffinity: "ClientIP" }),
        ...objects("empty", 3, []),
        ...objects("other", 4, ["10.X.0.14"]),
      );
      await stage.start();
    });
    after(() => stage[Symbol.asyncDispose]());

    test("the page is what is planned, for ports with endpoints, with affinity and without endpoints", async () => {
      for (const name of ["plain", "sticky", "empty"]) {
        const plan = JSON.parse(await stage.agent.page(`/plan/shop/${name}`)) as ImportPlan;
        const { held } = JSON.parse(await stage.agent.page(`/kernel/shop/${name}`)) as {
          held: HeldPort[];
        };
        const texts = held.map(
          ({ vip, protocol, port, destinations }) =>
            `${vip} ${protocol} ${port} ${destinations.join()}`,
        );
        const planned = plan.services.flatMap(({ vips, protocol, port, endpoints }) => {
          const to = endpoints.map((one) => destination(one.address, one.port)).sort();
          return vips.map((vip) => `${vip} ${protocol} ${port} ${to.join()}`);
        });
        // A port without endpoints may have nothing at all.
        const some = (all: string[]) => all.filter((text) => !text.endsWith(" ")).sort();
        assert.deepEqual(some(texts), some(planned), name);
        assert.equal(some(texts).length, name === "empty" ? 0 : 2, name);
      }
    });
  });
}
