import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment } from "../../common/config/command-line.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { type ControllerConfig, parseConfig } from "./config.ts";

const HOST = { name: "node-1", terminal: false };
const RUN = ["--kubeconfig", "k"];

function config(argv: readonly string[], env: Environment = {}): ControllerConfig {
  const parsed = parseConfig(argv, env, HOST);
  assert.ok(!isUsage(parsed), isUsage(parsed) ? usageText(parsed) : "");
  return parsed;
}

/** The usage error: one line per fault, without its code. */
function refusal(argv: readonly string[], env: Environment = {}): string[] {
  const parsed = parseConfig(argv, env, HOST);
  assert.ok(isUsage(parsed), "accepted");
  const lines = usageText(parsed).trimEnd().split("\n");
  return lines.map((line) => line.replace(/^CSP_USAGE: /, ""));
}

test("with a kubeconfig, everything else has a default", () => {
  const { clusterSetCidrs, http, ...rest } = config(RUN);
  const cidrs = clusterSetCidrs.map(({ text }) => text);
  assert.deepEqual(cidrs, ["241.0.0.0/8"]);
  assert.deepEqual([http?.host, http?.port], ["127.0.0.1", 10_270]);
  assert.deepEqual(rest, {
    command: "run",
    kubeconfig: "k",
    namespace: "clusterset-proxy",
    peerKubeconfigAllow: [],
    registry: "mesh",
    hubKubeconfig: undefined,
    cluster: undefined,
    clusterSet: undefined,
    region: undefined,
    explicitVipCidrs: [],
    clusterRegions: new Map(),
    policiesFrom: [],
    exportedKeys: [
      "*",
      "app.kubernetes.io/component",
      "app.kubernetes.io/name",
      "app.kubernetes.io/part-of",
      "app.kubernetes.io/version",
    ],
    deciders: new Map(),
    podCidrs: [],
    serviceCidrs: [],
    maxRulesPerImport: 100_000,
    maxRulesPerCluster: 1_000_000,
    leaderElectionId: "clusterset-controller",
    leaseSeconds: 30,
    clusterIpFailover: "by-annotation",
    drainWindow: 0,
    returnWindow: 30,
    startupTaint: "never",
    startupTaintSeconds: 300,
    logLevel: "info",
    logFormat: "json",
    warnings: [],
  });
});

test("--exported-keys rejects what is no key, and keys of other components", () => {
  assert.deepEqual(config([...RUN, "--exported-keys", "*,example.com/*, a/b"]).exportedKeys, [
    "*",
    "example.com/*",
    "a/b",
  ]);
  for (const key of ["*/a", "a*", "a/b/c", "/a", ","]) {
    const [line = ""] = refusal([...RUN, "--exported-keys", key]);
    assert.match(line, /is not a key of labels/, key);
  }
  for (const key of ["argocd.argoproj.io/*", "kubectl.kubernetes.io/a", "app.kubernetes.io/*"]) {
    const [line = ""] = refusal([...RUN, "--exported-keys", key]);
    assert.match(line, /is of another component, and never exported/, key);
  }
});

test("--deciding-cluster names each namespace once", () => {
  const { deciders } = config([...RUN, "--deciding-cluster", "shop=c1, auth=c2.eu"]);
  assert.deepEqual(
    [...deciders],
    [
      ["shop", "c1"],
      ["auth", "c2.eu"],
    ],
  );
  for (const given of ["shop", "shop=", "=c1", "Shop=c1", "shop=c1,shop=c2"]) {
    refusal([...RUN, "--deciding-cluster", given]);
  }
});

test("all invalid flags are reported at once", () => {
  const wrong = ["--cluster-id=C1", "--clusterset-id=-", "--namespace=a.b", "--registry=star"];
  assert.deepEqual(refusal([...RUN, ...wrong, "--lease-duration", "5s"]), [
    '--namespace: "a.b": expected a namespace',
    '--registry: "star": expected mesh or hub',
    '--cluster-id: "C1": expected a cluster id (one lower-case DNS label, or two)',
    '--clusterset-id: "-": expected a clusterset id (a Kubernetes label value)',
    '--lease-duration: "5s": expected seconds, 6s to 300s',
  ]);
});

test("outside of a pod, run needs a kubeconfig", () => {
  assert.deepEqual(refusal(["run"]), ["--kubeconfig: is missing; outside of a pod, run needs it"]);
  assert.equal(refusal(["run"], { KUBERNETES_SERVICE_HOST: "" }).length, 1);
  const { kubeconfig } = config(["run"], { KUBERNETES_SERVICE_HOST: "10.96.0.1" });
  assert.equal(kubeconfig, undefined);
});

test("a hub needs a kubeconfig, and a mesh has none", () => {
  const hub = ["--hub-kubeconfig", "h"];
  assert.deepEqual(refusal([...RUN, "--registry", "hub"]), [
    "--hub-kubeconfig: is missing; --registry hub needs it",
  ]);
  assert.deepEqual(refusal([...RUN, ...hub]), [
    '--hub-kubeconfig: "h": contradicts --registry mesh, which has no hub',
  ]);
  assert.equal(config([...RUN, "--registry", "hub", ...hub]).hubKubeconfig, "h");
});

test("a ClusterSet CIDR that overlaps pods is rejected; one that overlaps Services gives a warning", () => {
  const vips = [...RUN, "--clusterset-cidr", "10.128.0.0/9"];
  assert.deepEqual(refusal([...vips, "--pod-cidrs", "10.0.0.0/8"]), [
    '--clusterset-cidr: "10.128.0.0/9": overlaps --pod-cidrs 10.0.0.0/8; these pods would be unreachable',
  ]);
  assert.deepEqual(config([...vips, "--service-cidrs", "10.96.0.0/12,10.192.0.0/16"]).warnings, [
    "--clusterset-cidr 10.128.0.0/9 overlaps --service-cidrs 10.192.0.0/16: no VIP is allocated there",
  ]);
});

test("a ClusterSet CIDR without usable addresses is rejected", () => {
  const of = (range: string) => [...RUN, "--clusterset-cidr", range];
  for (const range of ["241.0.0.0/31", "241.0.0.1/32", "fd00:241::/128"]) {
    assert.deepEqual(refusal(of(range)), [
      `--clusterset-cidr: "${range}": ${range} has no address that can be a VIP; expected a wider range`,
    ]);
  }
  assert.equal(refusal(of("241.0.0.0/8,fd00:241::1/128")).length, 1);
  for (const range of ["241.0.0.0/30", "fd00:241::/127"]) config(of(range));
  assert.equal(refusal(of("241.0.0.0/8,242.0.0.0/31")).length, 1);
  config(of("242.0.0.0/8,241.0.0.0/8"));
  assert.deepEqual(refusal(of("242.0.0.0/8,241.0.0.0/8,243.0.0.0/8")), [
    '--clusterset-cidr: "242.0.0.0/8,241.0.0.0/8,243.0.0.0/8": has 3 IPv4 ranges; expected one, or 2 while the range changes',
  ]);
});

test("a command of the agent is rejected", () => {
  assert.deepEqual(refusal([...RUN, "cleanup"]), [
    'command: "cleanup": expected run, version or help',
  ]);
});
