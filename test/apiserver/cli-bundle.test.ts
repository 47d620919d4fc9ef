import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HttpServer, plainText } from "../../common/http.ts";
import { createLogger } from "../../common/log.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControllerStage } from "./controller-stage.ts";
import { PodPorts } from "./pod-ports.ts";

/** Each is planted in one place, and looks like what is usually there. */
const PLANTED = {
  token: "eyJhbGciOiJub25lIn0.eyJwbGFudGVkIjoidG9rZW4ifQ.cGxhbnRlZC10b2tlbg",
  annotation: "planted-annotation-4711",
  variable: "planted-variable-4711",
  applied: "planted-applied-4711",
  password: "planted-password-4711",
  key: "cGxhbnRlZC1rZXktNDcxMQ",
};

let mesh: ControllerStage;
let user: CommandLine;
let ports: PodPorts;
let agent: HttpServer;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-bundle-"));
  mesh = await ControllerStage.open({ clusters: ["c1", "c2"] });
  await mesh.start();
  const [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  await c1.namespace("shop");
  await c2.serve("shop/web", ["10.2.0.7"]);
  await c2.export("shop/web");
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  ports = await PodPorts.start(c1.plane);
  await ports.pod("controller", "controller-1", c1.pagesPort);
  ports.logs.set("controller-1", `${c1.log}\nPlanted: bearer ${PLANTED.password}\n`);
  agent = new HttpServer({ host: "127.0.0.1", port: 0 }, agentPages(), quiet());
  await ports.pod("agent", "agent-1", await agent.start());
  await plant();
  user = new CommandLine({
    one: c1.plane.inlineKubeconfig({ user: "admin" }),
    "arn:aws:eks:eu-west-1:1:cluster/two": c2.plane.inlineKubeconfig({ user: "admin" }),
  });
});
after(async () => {
  user?.[Symbol.dispose]();
  await agent?.stop();
  await ports?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function quiet() {
  return createLogger({ level: "error", format: "json" }, { write: () => undefined });
}

/** An agent that reports what it should not. */
function agentPages() {
  return ["/readyz", "/metrics", "/plan"].map((path) => ({
    path,
    answer: () =>
      plainText(
        200,
        `[-]source-nodes unauthorized: Bearer ${PLANTED.token} password=${PLANTED.password}\n`,
      ),
  }));
}

async function plant(): Promise<void> {
  const { admin } = mesh.cluster("c1").plane;
  const namespace = "clusterset-proxy";
  await admin.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: "planted", labels: { "clusterset-proxy.io/planted": "yes" } },
    stringData: {
      kubeconfig: `users: [{ user: { token: ${PLANTED.token}, client-key-data: ${PLANTED.key} } }]`,
    },
  });
  await admin.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: "planted" },
    data: { password: PLANTED.password },
  });
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  await admin.apply({
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: {
      namespace,
      name: "clusterset-agent",
      labels,
      annotations: {
        "example.com/token": PLANTED.annotation,
        "kubectl.kubernetes.io/last-applied-configuration": `{"env":[{"value":"${PLANTED.applied}"}]}`,
      },
    },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "agent",
              image: "clusterset-agent:0.1.0",
              args: [`--kubeconfig=https://ann:${PLANTED.password}@proxy/`],
              env: [
                { name: "HTTPS_PROXY_AUTH", value: PLANTED.variable },
                { name: "CLUSTERSET_AGENT_HEALTH", value: "all" },
              ],
            },
          ],
        },
      },
    },
  });
  await admin.create({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: "planted" },
    involvedObject: { namespace, kind: "Pod", name: "agent-1" },
    reason: "Failed",
    message: `login failed: token: ${PLANTED.token}`,
  });
}

/** The files of an archive, by path. */
function unpacked(file: string): ReadonlyMap<string, string> {
  execFileSync("tar", ["-xzf", file, "-C", folder]);
  const paths = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

test("a bundle has objects and pages of all contexts, and nothing that was planted as a secret", async () => {
  const file = join(folder, "bundle.tar.gz");
  const { code, out, note } = await user.run("bundle", "--all-contexts", "-f", file);
  assert.equal(note, "");
  const files = unpacked(file);
  const text = (path: string) => files.get(path) ?? assert.fail(`no ${path} in ${out}`);
  assert.match(text("1-one/objects/serviceimports.json"), /"name":"web"/);
  assert.match(text("1-one/pages/controller-1/debug.json"), /"cluster": "c2"/);
  assert.match(text("1-one/pages/agent-1/readyz.txt"), /source-nodes unauthorized/);
  assert.match(text("1-one/objects/daemonsets.json"), /"CLUSTERSET_AGENT_HEALTH","value":"all"/);
  assert.match(text("1-one/objects/events.json"), /"reason":"Failed"/);
  assert.doesNotMatch(text("1-one/objects/events.json"), /login failed/);
  assert.match(text("1-one/objects/leases-clusterset-registry-c1.json"), /"renewTime"/);
  assert.match(text("2-arn_aws_eks_eu-west-1_1_cluster_two/objects/serviceexports.json"), /"web"/);
  assert.match(text("contents.txt"), /^1-one\/objects\/nodes\.json \d+$/m);
  const all = [...files].map(([path, content]) => `${path}\n${content}`).join("\n") + out;
  for (const [where, secret] of Object.entries(PLANTED)) {
    assert.ok(!all.includes(secret), `the secret of ${where} is in the bundle`);
    assert.ok(!all.includes(Buffer.from(secret).toString("base64")), `${where}, in base64`);
  }
  for (const { plane } of mesh.clusters) {
    assert.ok(!all.includes(tokenOf(plane)));
  }
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(text("1-one/logs/controller-1.log"), /"msg":/);
  // The other pod's log cannot be read.
  assert.equal(code, 3);
  assert.match(out, /^1-one\/logs\/agent-1\.log +- +\S+: /m);
  assert.doesNotMatch(out, /previous/);
});

/** The token of the kubeconfig. */
function tokenOf(plane: { inlineKubeconfig: (options: { user: string }) => string }): string {
  const [, token] = /token"?: *"?([^"\n]+)/.exec(plane.inlineKubeconfig({ user: "admin" })) ?? [];
  return token ?? assert.fail("the kubeconfig has no token");
}

test("an existing file is not overwritten, and without logs all is there", async () => {
  const file = join(folder, "again.tar.gz");
  assert.equal((await user.run("bundle", "--no-logs", "-f", file)).code, 0);
  const { code, note } = await user.run("bundle", "--no-logs", "-f", file);
  assert.equal(code, 1);
  assert.match(note, /again\.tar\.gz: EEXIST.*CSP_FILE_UNWRITABLE/);
});

test("Ctrl-C ends it, and leaves no incomplete archive", async () => {
  const file = join(folder, "stopped.tar.gz");
  const stop = new AbortController();
  const writing = user.start(["bundle", "--all-contexts", "-f", file], stop.signal);
  await eventually(() => assert.ok(existsSync(file)), 30_000);
  stop.abort();
  assert.equal(await writing.code, 1);
  assert.ok(!existsSync(file));
});
