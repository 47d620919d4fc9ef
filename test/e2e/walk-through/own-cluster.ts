import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { eventually } from "../../stages/agent-process.ts";
import { assertNoneFailed, Caller } from "../caller.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { TIMEOUT_MS } from "./client.ts";
import { PATIENCE_MS, parts, readerOf, unread } from "./follow.ts";
import { Seen } from "./seen.ts";

const [BRAZIL, CHILE] = ["cluster-1", "cluster-2"] as const;

/** Latest calls, so many that each of two pods has answered one of them. */
const LATEST = 40;

const CALLER = {
  ...{ cluster: BRAZIL, namespace: "failover", timeoutMs: TIMEOUT_MS },
  target: "http://serve.failover.svc.clusterset.local",
} as const;

/** The failover demo of Karmada's users, between Brazil and Chile: "Own cluster first" of the guide. */
export function ownCluster(set: () => Clusterset): void {
  const seen = () => new Seen(set().clusters, "failover");

  describe("own cluster first: servers in Brazil and Chile, and a client in Brazil", {
    concurrency: false,
  }, () => {
    const test = parts();
    let reader: Reader;
    let caller: Caller;
    let held: Caller;
    before(() => {
      reader = readerOf(set().clusters);
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("while only Chile has it, Chile answers", async () => {
      await reader.follow("One cluster serves");
      [caller, held] = await Promise.all([
        Caller.start(set(), { ...CALLER, name: "caller" }),
        Caller.start(set(), { ...CALLER, name: "held", hold: true }),
      ]);
      await untilAnsweredBy(CHILE);
    });

    test("more pods there are more endpoints here, and the import is not touched", async () => {
      const generation = () => seen().field(BRAZIL, "serviceimport/serve", ".metadata.generation");
      const before = await generation();
      await reader.follow("Scale up");
      await untilAnsweredBy(CHILE);
      assert.equal(await generation(), before);
    });

    test("before: Brazil's own server takes all new connections", async () => {
      await reader.follow("Before the failure");
      await untilAnsweredBy(BRAZIL);
    });

    test("during: with no server of its own, Brazil calls Chile", async () => {
      await reader.follow("During the failure");
      await untilAnsweredBy(CHILE);
    });

    test("after: Brazil's own has everything again, the connection that Chile holds has gone on, and no call has failed", async () => {
      await reader.follow("After the failure");
      await untilAnsweredBy(BRAZIL);
      const lines = await held.calls();
      const [{ name: keeper = "" } = {}] = lines;
      assert.ok((await seen().pods(CHILE, "serve")).names.includes(keeper), keeper);
      await eventually(async () => {
        const now = await held.calls();
        assert.ok(now.length > lines.length + 10);
        assert.ok(now.every(({ name }) => name === keeper));
      }, PATIENCE_MS);
      assertNoneFailed(await caller.stop());
    });

    test("an import that is deleted while it is exported is made again, and takes connections", async () => {
      const uid = await seen().field(BRAZIL, "serviceimport/serve", ".metadata.uid");
      await reader.follow("Delete the import");
      assert.notEqual(await seen().field(BRAZIL, "serviceimport/serve", ".metadata.uid"), uid);
      await eventually(async () => {
        const rules = await seen().rules(BRAZIL, "failover/serve");
        assert.match(rules.join("\n"), /failover\/serve:80 local cluster-1" -j DNAT/);
      }, PATIENCE_MS);
    });

    test("deleted exports leave nothing, in no cluster, registry or node", async () => {
      await reader.follow("Delete the exports");
      assert.deepEqual(unread(reader, "Own cluster first"), []);
      await eventually(
        async () => assert.deepEqual(await seen().rules(CHILE, "failover/serve"), []),
        PATIENCE_MS,
      );
    });

    /** The latest calls reached each pod of this cluster, and no other. */
    async function untilAnsweredBy(cluster: string): Promise<void> {
      await eventually(async () => {
        const { names } = await seen().pods(cluster, "serve");
        const latest = (await caller.calls()).slice(-LATEST);
        assert.equal(latest.length, LATEST);
        const answered = latest.map(({ name, error = "" }) => name ?? error);
        assert.deepEqual([...new Set(answered)].sort(), names);
      }, PATIENCE_MS);
    }
  });
}
