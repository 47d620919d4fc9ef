import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { Client } from "./client.ts";
import { PATIENCE_MS, parts, readerOf, unread } from "./follow.ts";
import { Seen } from "./seen.ts";

const [EXPORTER, IMPORTER] = ["cluster-1", "cluster-2"] as const;
const ZONE = "automatic.svc.clusterset.local";

/** The tutorial of the Cloud Map controller, without a cloud: "Automatic" of the guide. */
export function automatic(set: () => Clusterset): void {
  const seen = () => new Seen(set().clusters, "automatic");
  const client = () => new Client(set().clusters, IMPORTER, "automatic");

  describe("automatic: one cluster exports, and the other one imports without a user's action", {
    concurrency: false,
  }, () => {
    const test = parts();
    let reader: Reader;
    let pods: readonly string[];
    let vip: string;
    before(() => {
      reader = readerOf(set().clusters);
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("imports come by themselves, with an address, the exporter's id, and all its endpoints", async () => {
      for (const heading of [
        "Identity",
        "Create a Deployment",
        "Export two Services",
        "Check the imports",
      ]) {
        await reader.follow(heading);
      }
      pods = (await seen().pods(EXPORTER, "hello")).names;
      vip = await seen().vip(IMPORTER, "hello");
      assert.equal(await seen().vip(EXPORTER, "hello"), vip);
    });

    test("by name and by address all three answer, and in the cluster's own zone there is no such name", async () => {
      assert.equal(pods.length, 3);
      for (const host of [vip, `hello.${ZONE}`]) await untilAnsweredBy(pods, host);
      assert.deepEqual(await client().lookup("A", "hello.automatic.svc.cluster.local"), []);
    });

    test("a pod that is not ready is carried as such, and left out of connections and of the headless name", async () => {
      await reader.follow("Make a pod unready");
      const unready = (await reader.paste('echo "$pod"')).trim();
      assert.ok(pods.includes(unready), unready);
      const others = pods.filter((pod) => pod !== unready);
      await untilAnsweredBy(others, `hello.${ZONE}`);
    });

    test("when it is ready again, it is back in all of them", async () => {
      await reader.follow("Make it ready again");
      await untilAnsweredBy(pods, vip);
    });

    test("with the Service goes its import, and the ServiceExport says why; with the Service it is back, at the same address", async () => {
      await reader.follow("Delete the Service");
      assert.deepEqual(unread(reader, "Automatic"), []);
      await eventually(async () => {
        assert.equal((await client().calls(`http://${vip}`, 1))[0]?.error, "refused");
      }, PATIENCE_MS);
      await reader.follow("Export two Services");
      await untilAnsweredBy(pods, vip);
    });

    async function untilAnsweredBy(names: readonly string[], host: string): Promise<void> {
      await eventually(
        async () => assert.deepEqual(await client().answeredBy(`http://${host}`), names),
        PATIENCE_MS,
      );
    }
  });
}
