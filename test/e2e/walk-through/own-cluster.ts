import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "../../support/agent-process.ts";
import { Caller } from "../caller.ts";
import type { Clusterset } from "../clusterset.ts";
import { blocksOf, functionOf } from "../guide.ts";
import { TIMEOUT_MS } from "./client.ts";
import { Seen } from "./seen.ts";

const GUIDE = "walk-throughs.md";
const [BRAZIL, CHILE] = ["cluster-1", "cluster-2"] as const;
const BOTH = [BRAZIL, CHILE] as const;
const TARGET = "http://serve.failover.svc.clusterset.local";

/** How long kubelets and controllers may take to follow. */
const PATIENCE_MS = 60_000;

/** The failover demo of Karmada's users, between Brazil and Chile: "Own cluster first" of the guide. */
export function ownCluster(set: () => Clusterset): void {
  const [
    chile = "",
    more = "",
    brazil = "",
    fail = "",
    recover = "",
    end1 = "",
    end2 = "",
    ...rest
  ] = blocksOf(GUIDE, "Own cluster first");
  const person = (commands: string) => set().shell(`${functionOf(GUIDE, "serve")}\n${commands}`);
  const seen = () => new Seen(set().clusters, "failover");

  describe("own cluster first: a server in Brazil, another one in Chile, and who calls is in Brazil", {
    concurrency: false,
  }, () => {
    let vip: string;
    let caller: Caller;
    let held: Caller;

    test("while only Chile has it, Chile answers, and one grep says why", async () => {
      assert.deepEqual(rest, []);
      await person(chile);
      vip = await seen().vip(BRAZIL, "serve");
      // The import is ready when it has its address; rules follow.
      await eventually(async () => assert.equal((await endpoints()).length, 1), PATIENCE_MS);
      const where = { cluster: BRAZIL, namespace: "failover", timeoutMs: TIMEOUT_MS };
      [caller, held] = await Promise.all([
        Caller.start(set(), { ...where, name: "caller", target: TARGET }),
        Caller.start(set(), { ...where, name: "held", target: TARGET, hold: true }),
      ]);
      await untilAnsweredBy(CHILE);
      await untilRules("global", CHILE);
    });

    test("more pods there are more endpoints here, and the import is not touched", async () => {
      const version = await seen().field(BRAZIL, "serviceimport/serve", ".metadata.generation");
      await person(more);
      await untilAnsweredBy(CHILE);
      assert.equal((await endpoints()).length, 2);
      assert.equal(
        await seen().field(BRAZIL, "serviceimport/serve", ".metadata.generation"),
        version,
      );
    });

    test("before: Brazil's own server takes all new connections", async () => {
      await person(brazil);
      await untilAnsweredBy(BRAZIL);
      await untilRules("local", BRAZIL);
    });

    test("during: with no server of its own, Brazil calls Chile", async () => {
      await person(fail);
      await untilAnsweredBy(CHILE);
      await untilRules("global", CHILE);
    });

    test("after: Brazil's own has everything again, the connection that Chile holds has gone on, and no call has failed", async () => {
      await person(recover);
      await untilAnsweredBy(BRAZIL);
      await untilRules("local", BRAZIL);
      const lines = await held.calls();
      await eventually(async () => {
        const now = await held.calls();
        assert.ok(now.length > lines.length + 10);
        assert.deepEqual(new Set(now.map(({ name }) => name)), new Set([lines[0]?.name]));
      }, PATIENCE_MS);
      assert.ok((await seen().pods(CHILE, "serve")).names.includes(lines[0]?.name ?? ""));
      const calls = await caller.stop();
      console.log(
        "slowest",
        calls
          .map(({ ms }) => ms)
          .sort((a, b) => b - a)
          .slice(0, 8),
        calls.length,
      );
      assert.deepEqual(
        calls.filter(({ error }) => error !== undefined),
        [],
      );
    });

    test("an import that is deleted while it is exported comes back with its address; deleted exports leave nothing", async () => {
      const uid = await seen().field(BRAZIL, "serviceimport/serve", ".metadata.uid");
      await person(end1);
      await eventually(async () => {
        assert.equal(await seen().vip(BRAZIL, "serve"), vip);
        assert.notEqual(await seen().field(BRAZIL, "serviceimport/serve", ".metadata.uid"), uid);
        await untilRules("local", BRAZIL);
      }, PATIENCE_MS);
      const said = await person(end2);
      assert.doesNotMatch(said, /NAME/);
      for (const id of BOTH) {
        await eventually(
          async () => assert.deepEqual(await seen().rules(id, "failover/serve"), []),
          PATIENCE_MS,
        );
        const registry = ["serviceimports,endpointslices", "-n", `clusterset-registry-${id}`];
        const published = await seen().names(id, ...registry);
        assert.doesNotMatch(published.join(" "), /failover/);
      }
    });

    /** Of the latest calls, all pods of this cluster have answered some, and nobody else any. */
    async function untilAnsweredBy(cluster: string): Promise<void> {
      await eventually(async () => {
        const { names } = await seen().pods(cluster, "serve");
        const recent = (await caller.calls())
          .slice(-40)
          .map(({ name, error = "" }) => name ?? error);
        assert.equal(recent.length, 40);
        assert.deepEqual([...new Set(recent)].sort(), names);
      }, PATIENCE_MS);
    }

    /** Rules that lead to an endpoint. */
    async function endpoints(): Promise<string[]> {
      const rules = await seen().rules(BRAZIL, "failover/serve");
      return rules.filter((rule) => rule.includes("-j DNAT"));
    }

    /** The node's rules of the service are those of this tier and cluster, one for each of its pods. */
    async function untilRules(tier: string, cluster: string): Promise<void> {
      await eventually(async () => {
        const { addresses } = await seen().pods(cluster, "serve");
        const rules = await endpoints();
        for (const rule of rules) {
          assert.match(rule, new RegExp(`--comment "failover/serve:?\\S* ${tier} ${cluster}"`));
        }
        const targets = rules.map((rule) => /--to-destination (\S+):8080$/.exec(rule)?.[1] ?? "");
        assert.deepEqual(targets.sort(), addresses);
      }, PATIENCE_MS);
    }
  });
}
