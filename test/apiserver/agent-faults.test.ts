import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RESOURCES, type Resource } from "../../agent/sources/kubernetes/queries.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { AGENT, AgentStage } from "./agent-stage.ts";
import { breakConversion } from "./crds.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ flags: ["--cluster-id", "c1"] });
  const { admin } = stage.plane;
  await admin.create(importObject("shop/web", ["241.0.1.7", "fd00:241::7"], [HTTP]));
  await admin.create(web("10.1.0.11"));
  await admin.create({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
});
after(() => stage[Symbol.asyncDispose]());

function web(...endpoints: string[]): object {
  const port = { ...HTTP, port: 8080 };
  return sliceObject("web-c1", "shop/web", { cluster: "c1" }, [port], endpoints);
}

/**
 * Lets something happen to the API server, and proves that the kernel is left alone from then until the agent
 * follows again, though it says what is wrong and goes on being ready; and that it then follows: `change`.
 */
async function survives(fault: {
  readonly happens: () => Promise<void>;
  /** A line of `/readyz?verbose` meanwhile; absent where the fault is too short. */
  readonly seen?: string;
  /** Of these resources; of all by default. */
  readonly of?: readonly Resource[];
  /** Changes what the agent cannot see then; else that is changed once it follows again. */
  readonly meanwhile?: () => Promise<unknown>;
  readonly ends?: () => Promise<void>;
  readonly endpoint: string;
}): Promise<string[]> {
  // A new agent: one whose requests failed repeatedly sends them less often.
  await stage.restartAgent();
  await stage.untilFollowed();
  const [rules, operations] = [await stage.rules(), await stage.operations()];
  assert.match(rules, /shop\/web:http local c1/);
  await fault.happens();
  await fault.meanwhile?.();
  if (fault.seen !== undefined) await stage.untilSeen(fault.seen, fault.of);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), operations);
  assert.equal(await stage.agent.page("/readyz"), "ok\n");
  await fault.ends?.();
  if (fault.meanwhile === undefined) {
    await stage.untilFollowed();
    assert.equal(await stage.rules(), rules);
    assert.equal(await stage.operations(), operations);
    await stage.plane.admin.apply(web(fault.endpoint));
  }
  await stage.untilRules(new RegExp(`local c1" .*${fault.endpoint.replaceAll(".", "\\.")}:8080`));
  assert.equal(await stage.operations(), operations + 1, "one chain is all that differs");
  await stage.untilFollowed();
  return stage.connections;
}

/** Each fault and its end were logged once. */
function assertToldOnce(told: readonly string[], reason: string): void {
  for (const resource of RESOURCES) {
    const lines = told.filter((line) => line.startsWith(`${resource} `));
    assert.equal(lines.filter((line) => line === `${resource} ${reason}`).length, 1, told.join());
    assert.equal(lines.at(-1), `${resource} watching`, told.join());
    lines.forEach((line, i) => {
      assert.notEqual(line, lines[i + 1], "the same twice");
    });
  }
}

test("A restart of the API server changes nothing in the kernel", async () => {
  const told = await survives({
    happens: () => stage.plane.stop(),
    seen: "unreachable",
    ends: () => stage.plane.start(),
    endpoint: "10.1.0.12",
  });
  assertToldOnce(told, "unreachable");
});

test("After a 410 due to compaction the agent lists again and programs what changed meanwhile", async () => {
  await survives({
    happens: () => stage.plane.compact(),
    endpoint: "10.1.0.13",
  });
  const states = await stage.agent.page("/metrics");
  assert.match(states, /source_states_total\{resource="[a-z]+",reason="expired"} [1-9]/);
});

test("The agent waits for an API server that does not respond, and programs changes after its return", async () => {
  const written = Promise.withResolvers<unknown>();
  await survives({
    happens: async () => stage.plane.freeze(),
    meanwhile: async () => {
      stage.plane.admin.apply(web("10.1.0.14")).then(written.resolve, written.reject);
      await sleep(1_000);
    },
    ends: async () => stage.plane.thaw(),
    endpoint: "10.1.0.14",
  });
  await written.promise;
});

test("A token is rejected, then accepted", async () => {
  const told = await survives({
    happens: () => stage.plane.rotateToken(AGENT),
    seen: "unauthorized",
    ends: async () => void stage.plane.kubeconfig({ user: AGENT }),
    endpoint: "10.1.0.15",
  });
  assertToldOnce(told, "unauthorized");
});

test("A client certificate replaces a token, is rejected, and is replaced", async () => {
  const told = await survives({
    happens: async () => {
      stage.plane.certificateKubeconfig({ user: AGENT });
      await stage.plane.rotateAuthority();
    },
    seen: "unauthorized",
    ends: async () => void stage.plane.certify(AGENT),
    endpoint: "10.1.0.22",
  });
  // Between the certificate and its key they may not belong together.
  const reasons = told.map((line) => line.split(" ")[1]);
  assert.ok(reasons.includes("unauthorized"));
});

test("Rights are revoked and granted again", async () => {
  const told = await survives({
    happens: async () => {
      await stage.forbid();
      // Open watches continue without a right until the server ends.
      await stage.plane.kill();
      await stage.plane.start();
    },
    seen: "forbidden",
    meanwhile: () => stage.plane.admin.apply(web("10.1.0.16")),
    ends: () => stage.allow(),
    endpoint: "10.1.0.16",
  });
  assertToldOnce(told, "forbidden");
});

test("A kind cannot be read while its conversion webhook is down", async () => {
  const told = await survives({
    happens: () => breakConversion(stage.plane.admin, "serviceimports"),
    seen: "throttled",
    of: ["serviceimports"],
    ends: () => stage.plane.installCrds(),
    endpoint: "10.1.0.17",
  });
  assert.equal(told.at(-1), "serviceimports watching");
});

/** Restarts the agent while the API server is down; returns its `/readyz`. */
async function startsBeside(fault: {
  readonly happens: () => Promise<void>;
  readonly seen: () => Promise<string>;
  readonly ends: () => Promise<void>;
  readonly endpoint: string;
}): Promise<string> {
  await stage.restartAgent();
  const rules = await stage.rules();
  await stage.agent.kill();
  await fault.happens();
  stage.newAgent().launch();
  const page = await fault.seen();
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0);
  await fault.ends();
  await stage.agent.page("/readyz");
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0);
  await stage.plane.admin.apply(web(fault.endpoint));
  await stage.untilRules(new RegExp(`local c1" .*${fault.endpoint}:8080`));
  return page;
}

test("An agent that starts without an API server logs that, keeps the rules, and programs changes later", async () => {
  const page = await startsBeside({
    happens: () => stage.plane.kill(),
    seen: () => stage.untilSeen("unreachable"),
    ends: () => stage.plane.start(),
    endpoint: "10.1.0.19",
  });
  assert.match(page, /\[-]sources failed: not-listed\n.*readyz check failed\n$/s);
});

test("An agent that starts while the API server does not respond waits, keeps the rules, and programs changes later", async () => {
  const page = await startsBeside({
    happens: async () => stage.plane.freeze(),
    seen: async () => {
      await stage.agent.page("/livez");
      await sleep(2_000);
      return stage.readyz();
    },
    ends: async () => stage.plane.thaw(),
    endpoint: "10.1.0.20",
  });
  assert.match(page, /\[-]sources failed: not-listed\n.*readyz check failed\n$/s);
  // Long before the silence is called a fault.
  assert.match(page, /^\[\?]source-nodes listing: "no response yet"$/m);
});

test("Preflight reports a Service range that overlaps the ClusterSet CIDR, with the right to read ServiceCIDRs", async () => {
  const { admin } = stage.plane;
  // An answer that takes long counts from the next minute on.
  const untilSaid = async (line: RegExp): Promise<void> => {
    await stage.restartAgent();
    await eventually(async () => assert.match(await stage.readyz(), line), 90_000);
  };
  await untilSaid(/^\[\+]preflight-service-range-IPv4 ok$/m);
  const kind = { apiVersion: "networking.k8s.io/v1", kind: "ServiceCIDR" };
  const wide = { ...kind, metadata: { name: "wide" } };
  await admin.create({ ...wide, spec: { cidrs: ["241.0.0.0/16"] } });
  await untilSaid(/^\[-]preflight-.*-IPv4 service-range-overlap: .* ServiceCIDR 241\.0\.0\.0\/16/m);
  await stage.allow("servicecidrs");
  await untilSaid(/^\[\?]preflight-service-range-IPv4 not-tested: /m);
  await stage.allow();
  await admin.delete(wide);
});
