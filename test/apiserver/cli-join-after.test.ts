import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { kubernetesCommand } from "./commands.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// `kubectl clusterset join` after an installation with kubectl, which owns the fields.

const JOIN = ["--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];
const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
const HOW = { k1: [], k2: ["--server-side"] } as const;

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open("k1", "k2");
});
after(() => set?.[Symbol.asyncDispose]());

for (const [id, flags] of Object.entries(HOW))
  test(`after kubectl apply ${flags.join(" ")}, join finds no conflict, and changes no program`, async () => {
    const kubectl = (...argv: readonly string[]) =>
      execFileSync(kubernetesCommand("kubectl"), [
        ...["--kubeconfig", set.user.kubeconfig, "--context", id, "apply", ...flags, ...argv],
      ]);
    kubectl("-f", `${DEPLOY}/crds`);
    kubectl("-k", `${DEPLOY}/overlays/mesh`);
    const { out } = await set.run("join", id, ...JOIN);
    assert.doesNotMatch(out, /conflict/);
    for (const program of ["deployment/clusterset-controller", "daemonset/clusterset-agent"])
      assert.match(out, new RegExp(`^${id} +unchanged +clusterset-proxy/${program}$`, "m"));
    assert.match((await set.run("join", id, ...JOIN)).out, /^nothing to do$/m);
  });
