import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertHeld, assertNoneFailed, Caller } from "../caller.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { TIMEOUT_MS } from "./client.ts";
import { readerOf, Seen, unread } from "./seen.ts";

const [BRAZIL, CHILE] = ["cluster-1", "cluster-2"] as const;

const CALLER = {
  ...{ cluster: BRAZIL, namespace: "failover", timeoutMs: TIMEOUT_MS },
  target: "http://serve.failover.svc.clusterset.local",
} as const;

/** The failover demo of Karmada's users, between Brazil and Chile: "Own cluster first" of the guide. */
export function ownCluster(set: () => Clusterset): void {
  describe("own cluster first: servers in Brazil and Chile, and a client in Brazil", {
    concurrency: false,
  }, () => {
    let reader: Reader;
    let seen: Seen;
    let caller: Caller;
    let held: Caller;
    before(() => {
      reader = readerOf(set().clusters);
      seen = new Seen(set().clusters, "failover");
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("while only Chile has it, Chile answers, and each of its pods when there are more", async () => {
      await reader.follow("One cluster serves");
      [caller, held] = await Promise.all([
        Caller.start(set(), { ...CALLER, name: "caller" }),
        Caller.start(set(), { ...CALLER, name: "held", hold: true }),
      ]);
      await untilAnsweredBy(CHILE);
      await reader.follow("Scale up");
      await untilAnsweredBy(CHILE);
    });

    test("before the failure Brazil's own server takes all new connections, during it Chile, and after it Brazil's own again; the connection that Chile holds has gone on, and no call has failed", async () => {
      const { length } = await held.calls();
      for (const [heading, cluster] of [
        ["Before the failure", BRAZIL],
        ["During the failure", CHILE],
        ["After the failure", BRAZIL],
      ] as const) {
        await reader.follow(heading);
        await untilAnsweredBy(cluster);
      }
      const lines = await held.calls();
      assertHeld(lines, new RegExp(`^${lines[0]?.name}$`), length);
      assert.ok((await seen.pods(CHILE, "serve")).includes(lines[0]?.name ?? ""));
      assertNoneFailed(await caller.stop());
    });

    test("an import that is deleted while it is exported is made again", async () => {
      const uid = () => seen.field(BRAZIL, "serviceimport/serve", ".metadata.uid");
      const before = await uid();
      await reader.follow("Delete the import");
      assert.notEqual(await uid(), before);
    });

    test("deleted exports leave nothing, in no cluster, registry or node", async () => {
      await reader.follow("Delete the exports");
      assert.deepEqual(unread(reader, "Own cluster first"), []);
    });

    function untilAnsweredBy(cluster: string): Promise<void> {
      return caller.untilAnsweredBy(() => seen.pods(cluster, "serve"));
    }
  });
}
