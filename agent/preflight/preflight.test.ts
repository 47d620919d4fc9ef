import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Cidr } from "../../api/cidr.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { cidr } from "../../test/generators/facts.ts";
import { ExtensionTrials, requirementsOf } from "../backends/iptables/kind.ts";
import { REQUIREMENTS } from "../backends/ipvs/kind.ts";
import type { Argv, ProgramResult } from "../system/program-result.ts";
import { type Finding, findingName } from "./finding.ts";
import { Preflight } from "./preflight.ts";

const ROUTE = '[{"dev":"eth0","prefsrc":"192.0.2.2"}]';
const LINK = "7: veth@if2: <UP> mtu 1500 link-netns pod-1";

/** A fake node; `answers` by the beginning of the command. */
class Stage implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly answers = new Map<string, string>([
    ["ip -4 -j route", ROUTE],
    ["ip -o link", LINK],
    ["nsenter --net=/var/run/netns/pod-1 -- ip", ROUTE],
    ["nsenter --net=/var/run/netns/pod-1 -- probe", "ECONNREFUSED"],
    ["iptables-nft --version", "iptables v1.8.9"],
    ["env", ""],
  ]);
  readonly files = new Map<string, string>();
  guarded = true;
  /** While set, programs run until they are stopped. */
  hangs = false;
  #commands: string[] = [];
  readonly reports: (readonly Finding[])[] = [];
  listedServiceCidrs: readonly Cidr[] = [];
  nodeFault = "";
  /** Endpoints of other clusters; those with an end accept connections, or end so. */
  neighbours: Readonly<Record<string, readonly string[]>> | undefined = {};
  readonly ends = new Map<string, string>();
  readonly connected: string[] = [];
  readonly preflight: Preflight;

  /** `flavour`: of iptables; none with IPVS. */
  constructor(flavour: "nft" | "none" = "nft", ranges: readonly string[] = ["241.0.0.0/8"]) {
    const run = (argv: Argv, stop?: AbortSignal) => this.#run(argv.join(" "), stop);
    this.preflight = new Preflight({
      clusterSetCidrs: ranges.map(cidr),
      serviceCidrs: [],
      listedServiceCidrs: () => this.listedServiceCidrs,
      nodeFault: () => this.nodeFault,
      requirements:
        flavour === "none"
          ? REQUIREMENTS
          : requirementsOf(flavour, new ExtensionTrials(flavour, run)),
      lockFile: "/run/clusterset-agent.lock",
      probe: (address) => ["probe", address],
      neighbours: () => {
        const { neighbours } = this;
        if (neighbours === undefined) return undefined;
        const sample = (cluster: string, count: number) =>
          (neighbours[cluster] ?? []).slice(0, count).map((address) => ({ address, port: 80 }));
        return { neighbours: Object.keys(neighbours), sample };
      },
      connect: async ({ address }) => {
        this.connected.push(address);
        return this.ends.get(address) ?? "accepted";
      },
      run,
      read: async (path) => this.files.get(path),
      clock: this.clock,
      random: () => 0,
      guarded: () => this.guarded,
      report: (findings) => this.reports.push(findings),
    });
  }

  /** Number of commands with this beginning since the last call. */
  ran(beginning: string): number {
    const count = this.#commands.filter((command) => command.startsWith(beginning)).length;
    this.#commands = this.#commands.filter((command) => !command.startsWith(beginning));
    return count;
  }

  /** Starts preflight, and waits until its first run has ended. */
  async start(): Promise<void> {
    this.preflight.start();
    await this.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.preflight.stop();
    assert.equal(this.clock.pending, 0);
  }

  /** Waits until the run under way has ended. */
  async settle(): Promise<void> {
    for (let i = 0; i < 50; i++) await turn();
  }

  async minute(): Promise<void> {
    this.clock.advance(60_000);
    await this.settle();
  }

  reason(name: string): string | undefined {
    return this.preflight.findings.find((finding) => findingName(finding) === name)?.reason;
  }

  async #run(command: string, stop?: AbortSignal): Promise<ProgramResult> {
    this.#commands.push(command);
    if (this.hangs && !stop?.aborted)
      await new Promise((resolve) => stop?.addEventListener("abort", resolve));
    const key = [...this.answers.keys()].find((beginning) => command.startsWith(beginning));
    const stdout = key === undefined ? undefined : this.answers.get(key);
    const status = stdout === undefined ? 1 : 0;
    return { status, stdout: stdout ?? "", stderr: "", missing: false };
  }
}

const PROBE = "nsenter --net=/var/run/netns/pod-1 -- probe";

test("with IPVS, nft is checked, and neither iptables, extensions nor routes are", async () => {
  await using stage = new Stage("none");
  stage.answers.set("nft -v", "nftables v1.0.6 (Lester Gooch #5)");
  stage.answers.set("ip -4 -j route", '[{"dev":"eth0","prefsrc":"127.0.0.1"}]');
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "0\n");
  stage.listedServiceCidrs = [cidr("241.0.0.0/16")];
  stage.nodeFault = "contains 241.0.0.1";
  await stage.start();
  const [findings = []] = stage.reports;
  assert.deepEqual(
    findings.map((one) => `${findingName(one)} ${one.reason ?? one.state}`),
    [
      "tools ok",
      "lock not-tested",
      "node node-contradicts-flag",
      "forwarding-IPv4 forwarding-off",
      "service-range-IPv4 service-range-overlap",
      "pods-IPv4 not-tested",
      "bridge-IPv4 not-tested",
      "invalid-IPv4 not-tested",
      "reach-IPv4 not-tested",
      "conntrack not-tested",
    ],
  );
  assert.doesNotMatch(JSON.stringify(findings), /iptables/);
  assert.equal(stage.ran("iptables-nft --version") + stage.ran("env"), 0);
});

test("checks run at the start and a minute after each run", async () => {
  await using stage = new Stage();
  assert.deepEqual(stage.preflight.findings, []);
  await stage.start();
  assert.equal(stage.reports.length, 1);
  stage.clock.advance(59_999);
  await stage.settle();
  assert.equal(stage.reports.length, 1);
  stage.clock.advance(1);
  await stage.settle();
  assert.equal(stage.reports.length, 2);
});

test("no pod is probed before the guard is programmed; then one probe, at once", async () => {
  await using stage = new Stage();
  stage.guarded = false;
  await stage.start();
  assert.equal(stage.ran("nsenter"), 0);
  stage.guarded = true;
  stage.preflight.again();
  await stage.settle();
  assert.equal(stage.ran(PROBE), 1);
  assert.equal(stage.ran("nsenter"), 1, "the pod's own route");
  assert.equal(stage.reason("pods-IPv4"), undefined);
  await stage.minute();
  assert.equal(stage.ran("nsenter"), 0);
});

test("requests made during a run cause one more run", async () => {
  await using stage = new Stage();
  stage.preflight.start();
  stage.preflight.again();
  stage.preflight.again();
  await stage.settle();
  assert.equal(stage.reports.length, 2);
});

test("no pod is probed while its packets would not reach the guard", async () => {
  await using stage = new Stage();
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "0\n");
  await stage.start();
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "1\n");
  stage.answers.delete("ip -4 -j route");
  await stage.minute();
  assert.equal(stage.ran("nsenter"), 0);
  stage.answers.set("ip -4 -j route", ROUTE);
  await stage.minute();
  assert.equal(stage.ran(PROBE), 1);
});

test("a pod without a route of the family is not probed", async () => {
  await using stage = new Stage();
  stage.answers.delete("nsenter --net=/var/run/netns/pod-1 -- ip");
  await stage.start();
  assert.equal(stage.ran(PROBE), 0);
  assert.equal(stage.reason("pods-IPv4"), "not-tested");
});

test("without answers, one pod is probed per minute, in turn", async () => {
  await using stage = new Stage();
  stage.answers.set(PROBE, "silence");
  stage.answers.set("ip -o link", `${LINK}\n8: v@if2: <UP> link-netns pod-2`);
  await stage.start();
  assert.equal(stage.ran(PROBE), 1);
  await stage.minute();
  assert.equal(stage.ran("nsenter --net=/var/run/netns/pod-2"), 1, "another pod");
  assert.equal(stage.ran(PROBE), 0);
});

test("of two ranges of a family, each is checked, and the worst finding is reported once", async () => {
  await using stage = new Stage("nft", ["242.0.0.0/8", "241.0.0.0/8"]);
  stage.listedServiceCidrs = [cidr("10.96.0.0/16")];
  await stage.start();
  const names = stage.preflight.findings.map(findingName);
  assert.deepEqual(names, [...new Set(names)]);
  assert.equal(stage.ran(PROBE), 2, "a probe to each range");
  for (const name of ["route-IPv4", "service-range-IPv4", "pods-IPv4"])
    assert.equal(stage.reason(name), undefined);
  stage.listedServiceCidrs = [cidr("241.128.0.0/9")];
  stage.answers.delete("ip -4 -j route");
  stage.answers.set("ip -4 -j route get 242", ROUTE);
  stage.answers.set("ip -4 -j route get 241", '[{"type":"unreachable","dst":"241.0.0.0/8"}]');
  await stage.minute();
  assert.equal(stage.reason("service-range-IPv4"), "service-range-overlap");
  assert.notEqual(stage.reason("route-IPv4"), undefined);
});

test("a check that could not run is repeated in the next run", async () => {
  await using stage = new Stage();
  stage.answers.delete("env");
  stage.answers.delete("iptables-nft --version");
  await stage.start();
  assert.equal(stage.reason("tools"), "not-tested");
  assert.equal(stage.reason("extensions-IPv4"), "not-tested");
  stage.answers.set("env", "");
  stage.answers.set("iptables-nft --version", "iptables v1.8.9");
  await stage.minute();
  assert.equal(stage.reason("tools"), undefined);
  assert.equal(stage.reason("extensions-IPv4"), undefined);
});

test("extensions are tested once if all are supported, and every minute while one is missing", async () => {
  await using stage = new Stage();
  stage.answers.set("env", "recent: no such module\n");
  await stage.start();
  await stage.minute();
  assert.equal(stage.ran("env"), 2);
  assert.equal(stage.reason("extensions-IPv4"), "extension-missing");
  stage.answers.set("env", "");
  await stage.minute();
  await stage.minute();
  assert.equal(stage.ran("env"), 1);
  assert.equal(stage.reason("extensions-IPv4"), undefined);
});

test("a run that is stopped ends and reports nothing", async () => {
  await using stage = new Stage();
  stage.hangs = true;
  await stage.start();
  await stage.preflight.stop();
  assert.deepEqual(stage.reports, []);
  assert.equal(stage.clock.pending, 0);
  stage.preflight.again();
  await stage.settle();
  assert.deepEqual(stage.reports, []);
});

test("a Service range of the API server is checked from the next run on", async () => {
  await using stage = new Stage();
  await stage.start();
  assert.equal(stage.reason("service-range-IPv4"), "not-tested");
  stage.listedServiceCidrs = [cidr("10.96.0.0/12"), cidr("241.96.0.0/12")];
  await stage.minute();
  assert.equal(stage.reason("service-range-IPv4"), "service-range-overlap");
  stage.listedServiceCidrs = [cidr("10.96.0.0/12")];
  await stage.minute();
  assert.equal(stage.reason("service-range-IPv4"), undefined);
});

test("endpoints of each other cluster are tried until one accepts, then every 15 minutes; one that refuses or is silent is not reached", async () => {
  await using stage = new Stage();
  stage.neighbours = undefined;
  await stage.start();
  assert.equal(stage.reason("reach-IPv4"), "not-tested");
  stage.neighbours = {
    c2: ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"],
    c3: ["192.0.2.31", "192.0.2.32"],
  };
  stage.ends.set("192.0.2.1", "silent");
  stage.ends.set("192.0.2.31", "silent").set("192.0.2.32", "refused");
  await stage.minute();
  assert.deepEqual(stage.connected.splice(0).sort(), [
    ...["192.0.2.1", "192.0.2.2", "192.0.2.3"],
    ...["192.0.2.31", "192.0.2.32"],
  ]);
  const found = () => stage.preflight.findings.find(({ check }) => check === "reach");
  assert.equal(found()?.state, "unknown");
  assert.equal(found()?.reason, "blind");
  assert.match(
    found()?.advice ?? "",
    /^This node reached 0 of 2 endpoints of "c3", but 2 of 3 endpoints of "c2"\. .*NetworkPolicies must admit .*up to 7 s/,
  );
  stage.ends.delete("192.0.2.32");
  await stage.minute();
  assert.deepEqual(stage.connected.splice(0).sort(), ["192.0.2.31", "192.0.2.32"]);
  assert.deepEqual(found(), {
    ...{ check: "reach", family: "IPv4", state: "ok" },
    advice: '2 of 3 endpoints of "c2", 1 of 2 endpoints of "c3"',
  });
  for (let i = 0; i < 13; i++) await stage.minute();
  assert.deepEqual(stage.connected, []);
  await stage.minute();
  assert.equal(stage.connected.length, 3, "c2 again, and a minute later c3");
});

test("a cluster that is not reached is tried less and less often, up to every 15 minutes", async () => {
  await using stage = new Stage();
  stage.neighbours = { c2: ["192.0.2.1"] };
  stage.ends.set("192.0.2.1", "silent");
  await stage.start();
  const pauses: number[] = [];
  for (let i = 1, last = 0; pauses.length < 5; i++) {
    const before = stage.connected.length;
    await stage.minute();
    if (stage.connected.length > before) {
      pauses.push(i - last);
      last = i;
    }
  }
  // Without jitter, which makes each up to twice as long.
  assert.deepEqual(pauses, [1, 2, 4, 8, 8]);
});

test("of many clusters, eight are tried in each run, in turn", async () => {
  await using stage = new Stage();
  const clusters = Array.from({ length: 12 }, (_, i) => [`c${i}`, [`192.0.2.${i}`]] as const);
  stage.neighbours = Object.fromEntries(clusters);
  for (const [, [address = ""]] of clusters) stage.ends.set(address, "silent");
  await stage.start();
  assert.equal(new Set(stage.connected).size, 8);
  await stage.minute();
  assert.equal(new Set(stage.connected).size, 12);
  assert.equal(stage.connected.length, 16);
});

test("a cluster without an endpoint to try, and one whose connections fail on this node, are not tested", async () => {
  await using stage = new Stage();
  stage.neighbours = { c2: [], c3: ["192.0.2.1"] };
  stage.ends.set("192.0.2.1", "unknown");
  await stage.start();
  assert.equal(stage.reason("reach-IPv4"), "not-tested");
  for (let i = 0; i < 5; i++) await stage.minute();
  stage.ends.delete("192.0.2.1");
  await stage.minute();
  assert.notEqual(stage.reason("reach-IPv4"), "not-tested", "tried in each run until it is");
});
