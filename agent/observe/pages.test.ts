import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import { tierRank } from "../../api/tiers/tiers.ts";
import { HttpServer } from "../../common/http.ts";
import { createLogger } from "../../common/log.ts";
import type { DestinationCount } from "../backends/backend.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import type { PortReason } from "../plan/virtual-service.ts";
import { type Finding, failing, ok, unknown } from "../preflight/finding.ts";
import type { FamilyProgress } from "../sync/agent.ts";
import { type PageSources, pages } from "./pages.ts";
import { isServed, nearnessOf } from "./tier-page.ts";

const NOW = 100_000;
const HELD = {
  vip: "241.0.0.1",
  protocol: "TCP",
  port: 80,
  destinations: ["10.1.0.1:80"],
} as const;

function plan(importKey: ImportPlan["importKey"]): ImportPlan {
  return { importKey, reason: "no-vip", vips: [], services: [], excluded: [] };
}

/** A plan of these ports: name, last part of the IP family, tier and reason of each. */
function planOf(...ports: readonly (readonly [string, 4 | 6, string, PortReason?])[]): ImportPlan {
  const services = ports.map(([portName, family, tier, reason = "nearest-ready"], i) => ({
    ...({ importKey: "demo/serve", portName, protocol: "TCP", port: i } as const),
    ...({ family: `IPv${family}`, vips: [], endpoints: [], reason } as const),
    ...(tier !== "" && { tier }),
  }));
  return { ...plan("demo/serve"), reason: "programmed", services };
}

/** The agent's pages, served; gives what reads one. */
async function served(
  t: TestContext,
  state: FamilyProgress = { synced: true },
  findings: readonly Finding[] = [],
  counts: PageSources["agent"]["counts"] = async () => undefined,
): Promise<(path: string) => Promise<readonly [number, string, string]>> {
  const routes = pages({
    clock: { now: () => NOW },
    metrics: { contentType: "text/plain; version=0.0.4", text: async () => "up 1\n" },
    agent: {
      listed: true,
      families: new Map([["IPv4", state]]),
      // The last import is deleted between being listed and being shown.
      keys: () => ["demo/empty", "demo/serve", "demo/vanished"],
      plan: (key) => (key === "demo/empty" || key === "demo/serve" ? plan(key) : undefined),
      counts,
      held: async (key) => {
        if (key === "demo/serve") return [HELD];
        throw new Error("iptables-nft-save: not found");
      },
    },
    toolTimeout: () => 0,
    unlisted: () => undefined,
    findings: () => findings,
    remarks: () => [],
    backend: "nftables",
  });
  const log = createLogger({ level: "error", format: "json" }, { write: () => {} });
  const server = new HttpServer({ host: "127.0.0.1", port: 0 }, routes, log);
  const port = await server.start();
  t.after(() => server.stop());
  return async (path) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    return [reply.status, await reply.text(), reply.headers.get("content-type") ?? ""];
  };
}

test("a ready agent answers ok, and lists its checks on request", async (t) => {
  const get = await served(t);
  assert.deepEqual((await get("/readyz")).slice(0, 2), [200, "ok\n"]);
  assert.deepEqual((await get("/livez")).slice(0, 2), [200, "ok\n"]);
  assert.deepEqual((await get("/readyz?verbose")).slice(0, 2), [
    200,
    "[+]sources ok\n[+]first-sync-IPv4 ok\n[+]changes-IPv4 ok\nreadyz check passed\n",
  ]);
});

test("findings about the node are listed on request, and do not make the agent unready", async (t) => {
  const get = await served(t, { synced: true }, [
    failing({ check: "route", family: "IPv4" }, "no-route", "Add a route."),
    ok({ check: "conntrack" }),
    unknown({ check: "pods", family: "IPv4" }, "No pod."),
  ]);
  assert.deepEqual((await get("/readyz")).slice(0, 2), [200, "ok\n"]);
  const [status, text] = await get("/readyz?verbose");
  assert.equal(status, 200);
  assert.deepEqual(text.split("\n").slice(-5), [
    "[-]preflight-route-IPv4 no-route: Add a route.",
    "[+]preflight-conntrack ok",
    "[?]preflight-pods-IPv4 not-tested: No pod.",
    "readyz check passed",
    "",
  ]);
});

test("an agent that is not ready answers 503 with the reason; it is still alive", async (t) => {
  const get = await served(t, { synced: true, oldestWaiting: NOW - 60_001 });
  const [status, text] = await get("/readyz");
  assert.equal(status, 503);
  assert.match(text, /^\[-\]changes-IPv4 failed: change-waiting$/m);
  assert.equal((await get("/livez"))[0], 200);
});

test("the status is the checks, the findings and the oldest change, as JSON, with status 200 also if the node is not ready", async (t) => {
  const finding = failing({ check: "route", family: "IPv4" }, "no-route", "Add a route.");
  const get = await served(t, { synced: true, oldestWaiting: NOW - 61_500 }, [finding]);
  const [status, text] = await get("/status");
  assert.equal(status, 200);
  const { version, ...rest } = JSON.parse(text) as { version: string };
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.deepEqual(rest, {
    backend: "nftables",
    oldestChangeSeconds: 61.5,
    checks: [
      { name: "sources", state: "ok" },
      { name: "first-sync-IPv4", state: "ok" },
      { name: "changes-IPv4", state: "failing", reason: "change-waiting" },
      {
        name: "preflight-route-IPv4",
        state: "failing",
        reason: "no-route",
        detail: "Add a route.",
      },
    ],
  });
});

test("metrics have the media type that Prometheus expects", async (t) => {
  const get = await served(t);
  assert.deepEqual(await get("/metrics"), [200, "up 1\n", "text/plain; version=0.0.4"]);
});

test("all plans are shown as JSON or YAML; one that was deleted meanwhile is left out", async (t) => {
  const get = await served(t);
  const all = { imports: [plan("demo/empty"), plan("demo/serve")] };
  const [, json, jsonType] = await get("/plan");
  assert.deepEqual([JSON.parse(json), jsonType], [all, "application/json; charset=utf-8"]);
  const [, yaml, yamlType] = await get("/plan?output=yaml");
  assert.deepEqual([parse(yaml), yamlType], [all, "application/yaml; charset=utf-8"]);
});

test("one plan is shown by namespace and name", async (t) => {
  const get = await served(t);
  const [status, json] = await get("/plan/demo/serve");
  assert.deepEqual([status, JSON.parse(json)], [200, plan("demo/serve")]);
  assert.deepEqual(parse((await get("/plan/demo/serve?output=yaml"))[1]), plan("demo/serve"));
});

test("one plan is shown with the kernel's counters; without them, if they cannot be read", async (t) => {
  const count: DestinationCount = {
    ...{ vip: "241.0.0.10", protocol: "TCP", port: 80, destination: "10.1.0.1:8080" },
    ...{ weight: 1, active: 2, inactive: 3, total: 4 },
  };
  const counting = await served(t, undefined, [], async () => [count]);
  const [, json] = await counting("/plan/demo/serve");
  assert.deepEqual(JSON.parse(json), { ...plan("demo/serve"), counts: [count] });
  const failing = await served(t, undefined, [], () => Promise.reject(new Error("no answer")));
  const [status, plain] = await failing("/plan/demo/serve");
  assert.deepEqual([status, JSON.parse(plain)], [200, plan("demo/serve")]);
});

test("an unknown import is 404; an invalid name or format is 400", async (t) => {
  const get = await served(t);
  assert.deepEqual((await get("/plan/demo/nothing")).slice(0, 2), [
    404,
    "Nothing is known of demo/nothing: neither a ServiceImport nor an EndpointSlice that belongs to one.\n",
  ]);
  for (const path of ["/plan/Demo/serve", "/plan//serve", "/plan/demo/%73erve", "/plan/a/b%0a"]) {
    assert.equal((await get(path))[0], 400, path);
  }
  assert.deepEqual((await get("/plan?output=xml")).slice(0, 2), [
    400,
    'output="xml": expected json or yaml.\n',
  ]);
  assert.equal((await get("/plan/demo/serve?output=")).at(0), 400);
});

test("what the kernel holds for one import is read on request; an error says why it cannot be", async (t) => {
  const get = await served(t);
  const [status, text] = await get("/kernel/demo/serve");
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(text), { importKey: "demo/serve", held: [HELD] });
  assert.deepEqual((await get("/kernel/demo/empty")).slice(0, 2), [
    503,
    "The kernel cannot be read: iptables-nft-save: not found\n",
  ]);
  assert.equal((await get("/kernel/demo/none"))[0], 404);
  assert.equal((await get("/kernel/Demo/serve"))[0], 400);
});

test("an import is as near as the port that is served from farthest, by the better IP family of each", async (t) => {
  const nearness = (ports: ImportPlan, within: string, port?: string) => {
    const found = nearnessOf(ports, port);
    return found && [found.tier, found.reason, isServed(found, tierRank(within) ?? -1)];
  };
  const one = planOf(["a", 4, "local"], ["a", 6, "", "no-endpoint"]);
  assert.deepEqual(nearness(one, "local"), ["local", "nearest-ready", true]);
  const two = planOf(["a", 4, "local"], ["b", 4, "global"], ["b", 6, "regional"]);
  assert.deepEqual(nearness(two, "local"), ["regional", "nearest-ready", false]);
  assert.deepEqual(nearness(two, "regional"), ["regional", "nearest-ready", true]);
  assert.deepEqual(nearness(two, "local", "a"), ["local", "nearest-ready", true]);
  assert.equal(nearness(two, "local", "c"), undefined);
  const none = planOf(["a", 4, "local"], ["b", 4, "", "no-endpoint"]);
  assert.deepEqual(nearness(none, "global"), [undefined, "no-endpoint", false]);
  const silent = planOf(["a", 4, "global", "nearest-unanswering"]);
  assert.deepEqual(nearness(silent, "global"), ["global", "nearest-unanswering", false]);
  const own = planOf(["a", 4, "selector-2"]);
  assert.deepEqual(nearness(own, "selector-1"), ["selector-2", "nearest-ready", false]);
  assert.deepEqual(nearness(own, "remainder"), ["selector-2", "nearest-ready", true]);
  const get = await served(t);
  const [status, text] = await get("/tier/demo/serve");
  assert.deepEqual([status, JSON.parse(text)], [503, { import: "demo/serve", reason: "no-vip" }]);
  const codes = ["/tier/demo/nothing", "/tier/demo/serve?within=near", "/tier/Demo/serve"];
  assert.deepEqual(
    await Promise.all(codes.map(async (path) => (await get(path))[0])),
    [404, 400, 400],
  );
});
