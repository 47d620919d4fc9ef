import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment } from "../../common/config/command-line.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { type AgentConfig, parseConfig } from "./config.ts";

const HOST = { name: "node-1", terminal: false };
const RUN = ["--manifests", "dir", "--cluster-id", "c1", "--region", "eu"];

function config(argv: readonly string[], env: Environment = {}, host = HOST): AgentConfig {
  const parsed = parseConfig(argv, env, host);
  assert.ok(!isUsage(parsed), isUsage(parsed) ? usageText(parsed) : "");
  return parsed;
}

/** The refusal, a line per fault, without the code that starts each. */
function refusal(argv: readonly string[], env: Environment = {}, host = HOST): string[] {
  const parsed = parseConfig(argv, env, host);
  assert.ok(isUsage(parsed), "accepted");
  const lines = usageText(parsed).trimEnd().split("\n");
  return lines.map((line) => line.replace(/^CSP_USAGE: /, ""));
}

test("with a directory of manifests, everything else has a default", () => {
  const { clusterSetCidrs, http, ...rest } = config(["--manifests", "dir"]);
  assert.deepEqual(
    clusterSetCidrs.map(({ text }) => text),
    ["241.0.0.0/8"],
  );
  assert.deepEqual([http?.host, http?.port], ["127.0.0.1", 10_269]);
  assert.deepEqual(rest, {
    command: "run",
    manifests: "dir",
    kubeconfig: undefined,
    objects: { kind: "manifests", directory: "dir" },
    nodeName: "node-1",
    cluster: undefined,
    region: undefined,
    zone: undefined,
    clusterRegions: new Map(),
    explicitVipCidrs: [],
    podCidrs: [],
    serviceCidrs: [],
    backends: ["iptables"],
    iptablesFlavour: "auto",
    ipvsScheduler: "rr",
    ipvsTcpTimeout: undefined,
    kubeProxyExcludeCidrs: [],
    masquerade: "none",
    health: "endpoints",
    lockFile: "/run/clusterset-agent.lock",
    maxRulesPerImport: 25_000,
    maxRulesPerNamespace: 100_000,
    maxRules: 2_000_000,
    logLevel: "info",
    logFormat: "json",
    output: "json",
    warnings: [
      "--cluster-id is not set: no endpoint counts as local",
      "--region is not set: no endpoint counts as regional",
    ],
  });
});

test("defaults follow the host: its name in lower case, and pretty lines on a terminal", () => {
  const { nodeName, logFormat } = config(RUN, {}, { name: "Node-2.Example\n", terminal: true });
  assert.deepEqual([nodeName, logFormat], ["node-2.example", "pretty"]);
  assert.match(
    refusal(RUN, {}, { name: "my_host", terminal: true }).join(),
    /^default of --node-name: "my_host": expected a node name/,
  );
});

test("a flag takes precedence over its variable, a variable over the default; an empty variable is ignored", () => {
  const env = {
    CLUSTERSET_AGENT_ZONE: "from-env",
    CLUSTERSET_AGENT_LOG_LEVEL: "debug",
    CLUSTERSET_AGENT_MASQUERADE: "",
  };
  const { zone, logLevel, masquerade } = config([...RUN, "--zone=from-flag"], env);
  assert.deepEqual([zone, logLevel, masquerade], ["from-flag", "debug", "none"]);
  assert.equal(config([...RUN, "--zone="], env).zone, undefined);
});

test("--backend takes one or several in order of preference, and auto prefers nftables", () => {
  const of = (value: string) => config([...RUN, `--backend=${value}`]).backends;
  assert.deepEqual(of("ipvs"), ["ipvs"]);
  assert.deepEqual(of("ipvs, iptables"), ["ipvs", "iptables"]);
  assert.deepEqual(of("auto"), ["nftables", "iptables"]);
  assert.deepEqual(refusal([...RUN, "--backend=ipvs,auto"]), [
    '--backend: "ipvs,auto": "auto" is unknown; expected iptables, ipvs or nftables',
  ]);
});

test("invalid values are rejected with flag, value and expected value, all at once", () => {
  assert.deepEqual(refusal([...RUN, "--masquerade", "remot", "-o", "xml", "--log-level=loud"]), [
    '--masquerade: "remot": expected none, off-cluster, remote or all',
    '--output: "xml": expected json or yaml',
    '--log-level: "loud": expected trace, debug, info, warn or error',
  ]);
});

test("an unknown flag or command suggests the nearest one, if one is near", () => {
  assert.deepEqual(refusal(["--nod-name", "x"]), [
    "--nod-name: no such flag; did you mean --node-name?",
  ]);
  assert.deepEqual(refusal(["--pods-cidr=10.0.0.0/8"]), [
    "--pods-cidr: no such flag; did you mean --pod-cidrs?",
  ]);
  assert.deepEqual(refusal(["--frobnicate"]), ["--frobnicate: no such flag"]);
  assert.deepEqual(refusal(["paln"]), [
    'command: "paln": expected run, cleanup, render, plan, version or help; did you mean plan?',
  ]);
  assert.deepEqual(refusal(["plan", "demo", ...RUN]), [
    'command: "demo": expected one command only',
  ]);
});

test("a flag without its value, or given twice, is rejected", () => {
  assert.deepEqual(refusal(["--zone"]), ["--zone: needs a value: --zone ZONE"]);
  assert.deepEqual(refusal(["--zone", "--region", "eu"]), ["--zone: needs a value: --zone ZONE"]);
  assert.deepEqual(refusal([...RUN, "--region", "us"]), ['--region: "us": is given twice']);
});

test("the commands that read objects require a source; cleanup does not", () => {
  for (const command of ["run", "render", "plan"] as const) {
    assert.deepEqual(refusal([command]), [
      `--kubeconfig: is missing; outside of a pod, ${command} requires it or --manifests`,
    ]);
    assert.equal(config([command, ...RUN]).command, command);
    assert.deepEqual(config([command, "--kubeconfig", "k"]).objects, {
      kind: "kubernetes",
      kubeconfig: "k",
    });
  }
  const { command, warnings } = config(["cleanup"]);
  assert.deepEqual([command, warnings], ["cleanup", []]);
});

test("in a pod, objects come from its own API server, unless a flag sets another source", () => {
  const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1" };
  assert.deepEqual(config(["run"], pod).objects, { kind: "kubernetes" });
  assert.equal(config(["run", "--kubeconfig", "k"], pod).objects?.kind, "kubernetes");
  assert.equal(config(["run", "--manifests", "dir"], pod).objects?.kind, "manifests");
  assert.match(refusal(["run"], { KUBERNETES_SERVICE_HOST: "" }).join(), /is missing/);
});

test("objects come from one source", () => {
  assert.deepEqual(refusal([...RUN, "--kubeconfig", "k"]), [
    '--kubeconfig: "k": conflicts with --manifests; set only one of them',
  ]);
});

test("values that an API server may have are not reported as missing", () => {
  assert.deepEqual(config(["run", "--kubeconfig", "k"]).warnings, []);
});

test("help and version are printed despite any fault", () => {
  const wrong = { CLUSTERSET_AGENT_LOG_LEVEL: "loud" };
  for (const asked of [["help"], ["--help"], ["-h"], ["plan", "--bogus", "--help"]]) {
    assert.equal(config(asked, wrong, { name: "my_host", terminal: true }).command, "help");
  }
  for (const asked of [["version"], ["--version"]]) {
    assert.equal(config(asked, wrong).command, "version");
  }
});

test("masquerading by pod range needs a pod range of every programmed family", () => {
  const both = [...RUN, "--clusterset-cidr", "241.0.0.0/8,fd00:241::/32"];
  const v4 = ["--pod-cidrs", "10.1.0.0/16"];
  for (const who of ["off-cluster", "remote"] as const) {
    const line = (family: string): string =>
      `--masquerade: "${who}": requires --pod-cidrs with an ${family} range, to recognize pods`;
    assert.deepEqual(refusal([...RUN, "--masquerade", who]), [line("IPv4")]);
    assert.deepEqual(refusal([...both, ...v4, "--masquerade", who]), [line("IPv6")]);
    const two = [...RUN, "--clusterset-cidr", "242.0.0.0/8,241.0.0.0/8", "--masquerade", who];
    assert.deepEqual(refusal(two), [line("IPv4")]);
    assert.equal(config([...RUN, ...v4, "--masquerade", who]).masquerade, who);
  }
  assert.equal(config([...RUN, "--masquerade", "all"]).masquerade, "all");
});

test("a ClusterSet CIDR that overlaps pods is rejected; one that overlaps Services causes a warning", () => {
  const vips = [...RUN, "--clusterset-cidr", "10.128.0.0/9"];
  assert.deepEqual(refusal([...vips, "--pod-cidrs", "10.0.0.0/8"]), [
    '--clusterset-cidr: "10.128.0.0/9": overlaps --pod-cidrs 10.0.0.0/8; these pods would be unreachable',
  ]);
  const second = [...RUN, "--clusterset-cidr", "242.0.0.0/8,10.128.0.0/9"];
  assert.equal(refusal([...second, "--pod-cidrs", "10.0.0.0/8"]).length, 1);
  const { warnings } = config([...vips, "--service-cidrs", "10.96.0.0/12,10.192.0.0/16"]);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? "",
    /--clusterset-cidr 10\.128\.0\.0\/9 overlaps .* 10\.192\.0\.0\/16/,
  );
});

test("this cluster cannot be in two regions", () => {
  assert.deepEqual(refusal([...RUN, "--cluster-regions", "c1=us,c2=us"]), [
    '--cluster-regions: "c1=us": sets another region for this cluster than --region eu',
  ]);
  assert.equal(config([...RUN, "--cluster-regions", "c1=eu"]).clusterRegions.get("c1"), "eu");
});

test("a misspelt variable causes a warning, but not variables that Kubernetes sets for a Service of this name", () => {
  const { warnings } = config(RUN, {
    CLUSTERSET_AGENT_REGOIN: "eu",
    CLUSTERSET_AGENT_SERVICE_HOST: "10.96.0.7",
    CLUSTERSET_AGENT_SERVICE_PORT_METRICS: "80",
    CLUSTERSET_AGENT_PORT: "tcp://10.96.0.7:80",
    CLUSTERSET_AGENT_PORT_80_TCP_ADDR: "10.96.0.7",
    CLUSTERSET_AGENT_METRICS_PORT_80_TCP: "tcp://10.96.0.7:80",
  });
  assert.deepEqual(warnings, [
    "Ignored unknown environment variable CLUSTERSET_AGENT_REGOIN; did you mean CLUSTERSET_AGENT_REGION?",
  ]);
});
