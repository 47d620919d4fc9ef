import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AgentProcess, ManifestDirectory } from "../stages/agent-process.ts";
import { AgentStage } from "./agent-stage.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** The kind that is in question; ClusterProperties, which may be missing, are looked for every half minute. */
const IMPORTS = ["serviceimports"] as const;
const WEB = importObject("shop/web", ["241.0.1.7"], [HTTP]);
const WEB_ALPHA = { ...WEB, apiVersion: "multicluster.x-k8s.io/v1alpha1" };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ crds: false, flags: ["--cluster-id", "c1"] });
});
after(() => stage[Symbol.asyncDispose]());

function slice(endpoint: string): object {
  const port = { ...HTTP, port: 8080 };
  return sliceObject("web-c1", "shop/web", { cluster: "c1" }, [port], [endpoint]);
}

/** Lets much happen at once, as far as the agent can see. */
async function unseen(happens: () => Promise<unknown>): Promise<void> {
  stage.agent.signal("SIGSTOP");
  await happens();
  stage.agent.signal("SIGCONT");
}

test("Without CRDs, the agent waits and keeps the rules of its predecessor", async () => {
  const manifests = new ManifestDirectory(stage.lab, "manifests");
  manifests.write("web", WEB, slice("10.1.0.11"));
  const flags = ["--node-name", "n1", "--cluster-id", "c1"];
  const range = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
  const predecessor = new AgentProcess(stage.node, manifests.path, [...flags, ...range]);
  await predecessor.start();
  await predecessor.stop();
  const rules = await stage.rules();
  assert.match(rules, /"shop\/web:http local c1" .*10\.1\.0\.11:8080/);
  await stage.plane.admin.create(slice("10.1.0.11"));

  stage.newAgent().launch();
  const page = await stage.untilSeen("not-served", IMPORTS);
  assert.match(page, /readyz check failed\n$/);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0);

  await unseen(async () => {
    await stage.plane.installCrds({ versions: ["v1alpha1"] });
    await stage.plane.admin.create(WEB_ALPHA);
  });
  await stage.agent.page("/readyz");
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0, "what a predecessor wrote is not written again");
});

test("A second served version changes nothing, and can replace the version in use", async () => {
  const rules = await stage.rules();
  await stage.plane.installCrds();
  assert.ok(stage.asked().some(({ uri }) => uri.includes("/v1alpha1/serviceimports?")));
  await stage.plane.admin.apply(importObject("shop/web", ["241.0.1.7", "241.0.1.8"], [HTTP]));
  await stage.untilRules(/-d 241\.0\.1\.8\/32/);
  await stage.plane.admin.apply(WEB);
  await stage.untilRules(/^(?!.*241\.0\.1\.8)/s);
  assert.equal(await stage.rules(), rules);
  const operations = await stage.operations();

  await stage.plane.installCrds({ versions: ["v1beta1"] });
  await stage.untilAsked(({ verb, uri, code }) => {
    return verb === "watch" && uri.includes("/v1beta1/serviceimports?") && code === 200;
  });
  await stage.untilFollowed(IMPORTS);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), operations);
  await stage.plane.admin.apply(importObject("shop/web", ["241.0.1.9"], [HTTP]));
  await stage.untilRules(/-d 241\.0\.1\.9\/32/);
});

test("When a kind is no longer served and its objects are still stored, no rule is deleted", async () => {
  await stage.restartAgent();
  const [rules, operations] = [await stage.rules(), await stage.operations()];
  await stage.plane.installCrds({ versions: [] });
  await stage.untilSeen("not-served", IMPORTS);
  assert.equal(await stage.agent.page("/readyz"), "ok\n");
  assert.equal(await stage.rules(), rules);
  await stage.plane.installCrds();
  await stage.untilFollowed(IMPORTS);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), operations);
});

test("When CRDs are deleted, the rules of their objects are deleted, and return with the objects", async () => {
  await stage.restartAgent();
  const rules = await stage.rules();
  await stage.plane.removeCrds();
  await stage.untilRules(/^(?!.*shop\/web)/s);
  await stage.untilSeen("not-served", IMPORTS);
  assert.equal(await stage.agent.page("/readyz"), "ok\n");
  await stage.plane.installCrds();
  await stage.plane.admin.create(importObject("shop/web", ["241.0.1.9"], [HTTP]));
  await stage.untilRules(/shop\/web:http local c1/);
  assert.equal(await stage.rules(), rules);
});
