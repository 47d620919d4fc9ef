import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { importObject } from "../generators/objects.ts";
import { AGENT, AgentStage } from "./agent-stage.ts";
import { apiServerFiles } from "./api-server.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** Gives a program a service account, as kubelet does: $1 is the token's file, $2 the CA's. Nobody else sees it. */
const AS_POD = `mount -t tmpfs none /mnt && to=/mnt/secrets/kubernetes.io/serviceaccount && mkdir -p $to &&
  cp "$1" $to/token && cp "$2" $to/ca.crt && mount --no-mtab --move /mnt /run && shift 2 && exec "$@"`;

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ crds: "all" });
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
  await stage.plane.admin.apply(node);
  await stage.plane.admin.apply(
    importObject("shop/web", ["241.0.0.7"], [{ name: "http", port: 80 }]),
  );
});
after(() => stage[Symbol.asyncDispose]());

/** The output of `plan` in a pod that has this token, and no other reference to the API server. */
async function planWith(token: string) {
  const { directory, url } = stage.plane;
  const file = `${directory}/pod.token`;
  writeFileSync(file, token);
  const { hostname, port } = new URL(url);
  return stage.node.run([
    ...["env", `KUBERNETES_SERVICE_HOST=${hostname}`, `KUBERNETES_SERVICE_PORT=${port}`],
    ...["CLUSTERSET_AGENT_NODE_NAME=n1", "unshare", "--mount", "sh", "-c", AS_POD, "sh"],
    ...[file, apiServerFiles(directory).ca, PROGRAM, "plan"],
  ]);
}

test("in a pod the agent uses its cluster's API server and the pod's service account", {
  timeout: 60_000,
}, async () => {
  stage.plane.kubeconfig({ user: AGENT });
  const { code, stdout, stderr } = await planWith(
    readFileSync(`${stage.plane.directory}/${AGENT}.token`, "utf8"),
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /shop\/web/);
  const refused = await planWith("nonsense");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /unauthorized/);
});
