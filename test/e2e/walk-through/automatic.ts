import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { Client } from "./client.ts";
import { readerOf, Seen, unread } from "./seen.ts";

const [EXPORTER, IMPORTER] = ["cluster-1", "cluster-2"] as const;
const NAME = "http://hello.automatic.svc.clusterset.local";

/** The tutorial of the Cloud Map controller, without a cloud: "Automatic" of the guide. */
export function automatic(set: () => Clusterset): void {
  describe("automatic: one cluster exports, and the other one imports without a user's action", {
    concurrency: false,
  }, () => {
    let reader: Reader;
    let client: Client;
    let pods: readonly string[];
    let vip: string;
    before(() => {
      reader = readerOf(set().clusters);
      client = new Client(set().clusters, IMPORTER, "automatic");
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("imports come by themselves, with one address in both clusters; by name and by address all pods answer", async () => {
      for (const heading of ["Identity", "Create a Deployment", "Export two Services"]) {
        await reader.follow(heading);
      }
      await reader.follow("Check the imports");
      const seen = new Seen(set().clusters, "automatic");
      pods = await seen.pods(EXPORTER, "hello");
      assert.equal(pods.length, 3);
      vip = await seen.vip(IMPORTER, "hello");
      assert.equal(await seen.vip(EXPORTER, "hello"), vip);
      for (const target of [`http://${vip}`, NAME]) await client.untilAnsweredBy(pods, target);
    });

    test("a pod gets no connections while it is not ready, and has its share once it is", async () => {
      await reader.follow("Make a pod unready");
      const unready = (await reader.paste('echo "$pod"')).trim();
      const others = pods.filter((pod) => pod !== unready);
      assert.equal(others.length, 2);
      await client.untilAnsweredBy(others, NAME);
      await reader.follow("Make it ready again");
      await client.untilAnsweredBy(pods, NAME);
    });

    test("with the Service goes its import, and connections are rejected; with the Service it is back, at the same address", async () => {
      await reader.follow("Delete the Service");
      assert.deepEqual(unread(reader, "Automatic"), []);
      await eventually(async () => {
        assert.equal((await client.calls(`http://${vip}`, 1))[0]?.error, "refused");
      });
      await reader.follow("Export two Services");
      await client.untilAnsweredBy(pods, `http://${vip}`);
    });
  });
}
