import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import type { ExplainedImport } from "../../cli/view/explanation-text.ts";
import type { ContextStatus } from "../../cli/view/status.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControllerStage, type StagedCluster } from "./controller-stage.ts";
import { PodPorts } from "./pod-ports.ts";

// What a user with the rights of the guide, and no other, sees of ClusterIP failover in c1.

const KEY = "shop/web";
const ASK = "clusterset-proxy.io/cluster-ip-failover";
const RBAC = "rbac.authorization.k8s.io";

let mesh: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let user: CommandLine;
let ports: PodPorts;
before(async () => {
  mesh = await ControllerStage.open({ clusters: ["c1", "c2"], users: ["reader"] });
  [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  await c1.serve(KEY, ["10.1.0.7"]);
  await c1.serve("shop/alone", ["10.1.0.8"]);
  await c2.serve(KEY, ["10.2.0.7", "10.2.0.8"]);
  await c2.export(KEY);
  await mesh.start();
  await c1.untilImported(KEY, ["10.2.0.7", "10.2.0.8"]);
  ports = await PodPorts.start(c1.plane);
  await ports.pod("controller", "controller-1", c1.pagesPort);
  await allowReader();
  user = new CommandLine({ one: c1.plane.inlineKubeconfig({ user: "reader" }) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await ports?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
});

/** Applies the roles of the guide, and binds them to the user. */
async function allowReader(): Promise<void> {
  const guide = readFileSync(`${import.meta.dirname}/../../docs/guides/kubectl-plugin.md`, "utf8");
  const roles = [...guide.matchAll(/^```yaml\n(apiVersion: rbac.*?)^```$/gms)];
  assert.equal(roles.length, 2);
  for (const [, text = ""] of roles) {
    const role = parse(text);
    await c1.plane.admin.apply(role);
    await c1.plane.admin.apply({
      ...{ apiVersion: `${RBAC}/v1`, kind: `${role.kind}Binding`, metadata: role.metadata },
      subjects: [{ kind: "User", name: "reader" }],
      roleRef: { apiGroup: RBAC, kind: role.kind, name: role.metadata.name },
    });
  }
}

/** Annotates a Service or Namespace of c1; null: it has none. */
async function ask(value: string | null, name: string, kind = "Service"): Promise<void> {
  const metadata = kind === "Service" ? { namespace: "shop", name } : { name };
  const annotations = { [ASK]: value };
  await c1.plane.admin.patch({ apiVersion: "v1", kind, metadata }, { metadata: { annotations } });
}

/** Lines of the head of an explanation that are about the ClusterIP, once they match. */
function untilExplained(key: string, clusterIp: RegExp, failover: RegExp): Promise<number> {
  return eventually(async () => {
    const { code, out, note } = await user.run("explain", key);
    assert.match(out, new RegExp(`^ClusterIP: +10\\.\\S+, ${clusterIp.source}$`, "m"), note);
    assert.match(out, new RegExp(`^Failover: +${failover.source}$`, "m"));
    return code;
  }, 30_000);
}

async function status(...argv: readonly string[]) {
  const { out, note } = await user.run("status", "-o", "json", ...argv);
  assert.notEqual(out, "", note);
  const [context] = (JSON.parse(out) as { contexts: ContextStatus[] }).contexts;
  assert.ok(context);
  assert.deepEqual(context.unread, [], "the guide's rights are enough");
  const problems = context.problems.filter(({ object }) => object.startsWith("Service "));
  return {
    failover: context.failover,
    problems: problems.map(({ object, reason }) => [object, reason]),
  };
}

test("no Service asks: explain says so, and status has no column for it", async () => {
  await untilExplained(KEY, /uses 1 local endpoint/, /not requested/);
  assert.deepEqual(await status(), { failover: undefined, problems: [] });
  assert.doesNotMatch((await user.run("status")).out, /FAILOVER|Service /);
  const none = await user.run("explain", "shop/alone");
  assert.match(none.note, /no ServiceImport shop\/alone/);
  assert.equal(none.code, 1);
});

test("requested by the Service: prepared endpoints by cluster, and what the ClusterIP uses when local ones are gone", async () => {
  await ask("true", "web");
  const prepared =
    /requested by the Service; prepared \(failover-prepared\): 2 ready IPv4 endpoints of c2/;
  await untilExplained(KEY, /uses 1 local endpoint/, prepared);
  await c1.endpoints(KEY, []);
  const code = await untilExplained(KEY, /uses 2 endpoints of c2/, prepared);
  // Without agents, the import alone is a warning, too.
  assert.equal(code, 3);
  const { out } = await user.run("explain", KEY, "-o", "json");
  const [found] = (JSON.parse(out) as { contexts: ExplainedImport[] }).contexts;
  const { prepared: listed, severity, uses, unread } = found?.clusterIp ?? {};
  assert.deepEqual(listed, [{ cluster: "c2", family: "IPv4", endpoints: 2, ready: 2 }]);
  assert.deepEqual(uses?.[0]?.clusters, [{ cluster: "c2", endpoints: 2 }]);
  assert.deepEqual([severity, unread], ["warning", []]);
  await c1.endpoints(KEY, ["10.1.0.7"]);
});

test("requested by the Namespace: a Service without an import is explained, and listed by status as a problem", async () => {
  await ask("true", "shop", "Namespace");
  const failover =
    /requested by the Namespace; not prepared \(not-exported-elsewhere\): No other cluster exports the Service/;
  assert.equal(await untilExplained("shop/alone", /uses 1 local endpoint/, failover), 3);
  assert.deepEqual(await status(), {
    failover: { requested: 2, prepared: 1 },
    problems: [["Service shop/alone", "not-exported-elsewhere"]],
  });
  assert.deepEqual((await status("-n", "default")).problems, []);
  const { code, out } = await user.run("status");
  assert.match(out, /^one +1 .* 1\/2$/m);
  assert.match(
    out,
    /^one +Service shop\/alone +not-exported-elsewhere +ClusterIP failover is not/m,
  );
  assert.equal(code, 3);
  await ask("false", "alone");
  await eventually(async () => assert.deepEqual((await status()).problems, []), 30_000);
  await untilExplained("shop/alone", /uses 1 local endpoint/, /declined by the Service/);
});

test("endpoints of a cluster without a ready one are the last resort", async () => {
  await c2.endpoints(KEY, ["10.2.0.7"]);
  await untilExplained(KEY, /uses 1 local endpoint/, /.*: 1 ready IPv4 endpoint of c2/);
  using operator = new CommandLine({ one: c1.plane.inlineKubeconfig({ user: "admin" }) });
  const drained = await operator.run("drain", "c2", "--for", "1h");
  assert.equal(drained.code, 0, drained.note);
  await untilExplained(KEY, /uses 1 local endpoint/, /.*: 1 last-resort IPv4 endpoint of c2/);
});

test("without the controller, what the API server's objects say, and that it did not answer", async () => {
  await c1.kill();
  const silent =
    /requested by the Service; prepared: 1 last-resort IPv4 endpoint of c2; the controller's result not known: \w+, .+/;
  assert.equal(await untilExplained(KEY, /uses 1 local endpoint/, silent), 3);
});
