import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeShare } from "../../agent/sync/node-shifts.ts";
import { parseShift } from "../../api/shift.ts";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { now } from "../connections/attempt.ts";
import { eventually } from "../stages/agent-process.ts";
import type { Caller } from "./caller.ts";
import type { Clusterset } from "./clusterset.ts";
import { stepsOf } from "./guide.ts";
import { Reader } from "./reader.ts";

const GUIDE = "maintenance.md";

/** Milliseconds out of rotation after which nodes return one by one, and more, because a controller counts from when it is told. */
const LONG_MS = 62_000;

/** What test/e2e/hub.test.ts follows. */
const WITH_A_HUB = ["On the hub", "Drained on the hub"];

export interface MaintenanceOptions {
  readonly set: Clusterset;
  /** One on each node. */
  readonly callers: readonly Caller[];
  /** Of cluster-1. */
  readonly nodes: readonly [ClusterNode, ClusterNode];
}

/** docs/guides/maintenance.md: cluster-1 is drained on its own side, and cluster-2, as seen from cluster-1, in its importer. */
export class Maintenance implements AsyncDisposable {
  readonly #options: MaintenanceOptions;
  readonly #reader: Reader;
  readonly #importer: Reader;
  #outSince = 0;
  #undrained = 0;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    const { set, nodes } = options;
    this.#reader = new Reader(set.clusters, GUIDE, { node: nodes[0] });
    // The callers' cluster is the importer: its names are swapped.
    const swap = (commands: string) =>
      commands.replaceAll(/cluster-[12]\b/g, (id) =>
        id === "cluster-1" ? "cluster-2" : "cluster-1",
      );
    this.#importer = new Reader(set.clusters, GUIDE, { adapt: swap });
  }

  /** Drains cluster-1. */
  async takeOut(): Promise<void> {
    for (const reader of [this.#reader, this.#importer]) await reader.paste("USER=ann");
    await this.#reader.follow("Take it out");
    this.#outSince = performance.now();
  }

  /** Looks at each place where the guide says that it is shown. */
  async check(): Promise<void> {
    await this.#reader.follow("Check");
  }

  /** Drains cluster-2 in cluster-1. */
  async takeOutInImporter(): Promise<void> {
    await this.#importer.follow("In an importing cluster");
  }

  async bringBackInImporter(): Promise<void> {
    await this.#importer.follow("Drained in an importing cluster");
  }

  /** Ends the drain of cluster-1, a minute after its begin or later. Both nodes wait at first. */
  async bringBack(): Promise<void> {
    await sleep(Math.max(0, this.#outSince + LONG_MS - performance.now()));
    this.#undrained = now();
    await this.#reader.follow("Drained on its own side");
    await Promise.all(
      this.#options.nodes.map(({ host }) =>
        eventually(async () => {
          const plan = await host.exec(["curl", "-sf", `127.0.0.1:10269/plan/demo/serve`]);
          assert.match(plan, /"reason": "returning"/);
        }),
      ),
    );
  }

  /** Every block of the guide was followed, but those for a hub. */
  assertFollowed(): void {
    const left = this.#reader.left.filter((block) => this.#importer.left.includes(block));
    const hub = WITH_A_HUB.flatMap((heading) => stepsOf(GUIDE, heading));
    assert.deepEqual(
      left,
      hub.map(({ commands }) => commands),
    );
  }

  /** No node has used its own cluster before its moment in the window. */
  async assertGentle(local: RegExp): Promise<void> {
    const { set, callers, nodes } = this.#options;
    const slices = ["-n", "demo", "get", "endpointslices", "-o", "json", "-l", OF_CLUSTER];
    const { items } = JSON.parse(await set.clusters.kubectl("cluster-1", slices));
    const shift = parseShift(items[0]);
    assert.equal(shift?.direction, "returning");
    // Callers have another clock.
    const begin = (shift?.from ?? 0) - Date.now() + now();
    for (const [i, { name }] of nodes.entries()) {
      const calls = (await callers[i]?.callsSince(this.#undrained)) ?? [];
      const first = Math.min(
        ...calls.filter((call) => local.test(call.name ?? "")).map(({ at, ms }) => at + ms),
      );
      const moment = begin + nodeShare(name) * (shift?.length ?? 0);
      assert.ok(first >= moment, `${name} at ${first - begin}, not ${moment - begin} ms`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of [this.#reader, this.#importer]) await reader[Symbol.asyncDispose]();
  }
}

const OF_CLUSTER =
  "multicluster.kubernetes.io/service-name=serve,multicluster.kubernetes.io/source-cluster=cluster-1";
