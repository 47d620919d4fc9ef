import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Cidr } from "../../api/cidr.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { cidr } from "../../test/support/worlds.ts";
import { Preflight } from "./preflight.ts";
import type { Outcome } from "./sight.ts";
import { type Verdict, verdictName } from "./verdict.ts";

const ROUTE = '[{"dev":"eth0","prefsrc":"192.0.2.2"}]';
const LINK = "7: veth@if2: <UP> mtu 1500 link-netns pod-1";

/** A node that answers as it is told to; by the beginning of the command. */
class Stage {
  readonly clock = new FakeClock();
  readonly answers = new Map<string, string>([
    ["ip -4 -j route", ROUTE],
    ["ip -o link", LINK],
    ["nsenter --net=/var/run/netns/pod-1 -- ip", ROUTE],
    ["nsenter --net=/var/run/netns/pod-1 -- knock", "ECONNREFUSED"],
    ["iptables-nft --version", "iptables v1.8.9"],
    ["env", ""],
  ]);
  readonly files = new Map<string, string>();
  guarded = true;
  /** While set, programs do not end before they are stopped. */
  hangs = false;
  #commands: string[] = [];
  readonly told: (readonly Verdict[])[] = [];
  toldServiceCidrs: readonly Cidr[] = [];
  readonly preflight: Preflight;

  /** `flavour`: of iptables; none with IPVS. */
  constructor(flavour: "nft" | "none" = "nft") {
    this.preflight = this.#preflight(flavour);
  }

  #preflight(flavour: "nft" | "none"): Preflight {
    return new Preflight({
      clusterSetCidrs: [cidr("241.0.0.0/8")],
      serviceCidrs: [],
      toldServiceCidrs: async () => this.toldServiceCidrs,
      ...(flavour !== "none" && { flavour }),
      lockFiles: [],
      knock: (address) => ["knock", address],
      sight: {
        run: (argv, stop) => this.#run(argv.join(" "), stop),
        read: async (path) => this.files.get(path),
      },
      clock: this.clock,
      guarded: () => this.guarded,
      told: (verdicts) => this.told.push(verdicts),
    });
  }

  /** Commands since the last call that begin so. */
  ran(beginning: string): number {
    const count = this.#commands.filter((command) => command.startsWith(beginning)).length;
    this.#commands = this.#commands.filter((command) => !command.startsWith(beginning));
    return count;
  }

  /** Lets a look that is under way end. */
  async settle(): Promise<void> {
    for (let i = 0; i < 50; i++) await turn();
  }

  async minute(): Promise<void> {
    this.clock.advance(60_000);
    await this.settle();
  }

  reason(name: string): string | undefined {
    return this.preflight.verdicts.find((verdict) => verdictName(verdict) === name)?.reason;
  }

  async #run(command: string, stop: AbortSignal): Promise<Outcome> {
    this.#commands.push(command);
    if (this.hangs && !stop.aborted)
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
    const key = [...this.answers.keys()].find((beginning) => command.startsWith(beginning));
    const stdout = key === undefined ? undefined : this.answers.get(key);
    const status = stdout === undefined ? 1 : 0;
    return { status, stdout: stdout ?? "", stderr: "", missing: false };
  }
}

const KNOCK = "nsenter --net=/var/run/netns/pod-1 -- knock";

test("with IPVS nft is looked for, forwarding, Services and pods are as ever, and nothing of iptables is asked or told", async () => {
  const stage = new Stage("none");
  stage.answers.set("nft -v", "nftables v1.0.6 (Lester Gooch #5)");
  stage.answers.set("ip -4 -j route", '[{"dev":"eth0","prefsrc":"127.0.0.1"}]');
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "0\n");
  stage.toldServiceCidrs = [cidr("241.0.0.0/16")];
  stage.preflight.start();
  await stage.settle();
  const [verdicts = []] = stage.told;
  assert.deepEqual(
    verdicts.map((one) => `${verdictName(one)} ${one.reason ?? one.state}`),
    [
      "tools well",
      "lock not-tested",
      "forwarding-IPv4 forwarding-off",
      "service-range-IPv4 service-range-overlap",
      "pods-IPv4 not-tested",
      "conntrack not-tested",
    ],
  );
  assert.doesNotMatch(JSON.stringify(verdicts), /iptables/);
  assert.equal(stage.ran("iptables") + stage.ran("ip6tables") + stage.ran("env"), 0);
  await stage.preflight.stop();
});

test("the node is looked at when it starts, and a minute after each look", async () => {
  const stage = new Stage();
  assert.deepEqual(stage.preflight.verdicts, []);
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.told.length, 1);
  stage.clock.advance(59_999);
  await stage.settle();
  assert.equal(stage.told.length, 1);
  stage.clock.advance(1);
  await stage.settle();
  assert.equal(stage.told.length, 2);
  await stage.preflight.stop();
  assert.equal(stage.clock.pending, 0);
});

test("what is found and what is mended is seen within a minute", async () => {
  const stage = new Stage();
  const file = "/proc/sys/net/ipv4/ip_forward";
  stage.files.set(file, "0\n");
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.reason("forwarding-IPv4"), "forwarding-off");
  stage.files.set(file, "1\n");
  await stage.minute();
  assert.equal(stage.reason("forwarding-IPv4"), undefined);
  await stage.preflight.stop();
});

test("no pod is touched before the guard is there; then at once, when asked for, and not again", async () => {
  const stage = new Stage();
  stage.guarded = false;
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.ran("nsenter"), 0);
  stage.guarded = true;
  stage.preflight.again();
  await stage.settle();
  assert.equal(stage.ran(KNOCK), 1);
  assert.equal(stage.ran("nsenter"), 1, "the pod's own route");
  assert.equal(stage.reason("pods-IPv4"), undefined);
  await stage.minute();
  assert.equal(stage.ran("nsenter"), 0);
  await stage.preflight.stop();
});

test("asked for while it looks, it looks once more after that", async () => {
  const stage = new Stage();
  stage.preflight.start();
  stage.preflight.again();
  stage.preflight.again();
  await stage.settle();
  assert.equal(stage.told.length, 2);
  await stage.preflight.stop();
});

test("no pod is knocked from while the node would not bring the call to the guard", async () => {
  const stage = new Stage();
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "0\n");
  stage.preflight.start();
  await stage.settle();
  stage.files.set("/proc/sys/net/ipv4/ip_forward", "1\n");
  stage.answers.delete("ip -4 -j route");
  await stage.minute();
  assert.equal(stage.ran("nsenter"), 0);
  stage.answers.set("ip -4 -j route", ROUTE);
  await stage.minute();
  assert.equal(stage.ran(KNOCK), 1);
  await stage.preflight.stop();
});

test("a pod without a route of the family is not knocked from", async () => {
  const stage = new Stage();
  stage.answers.delete("nsenter --net=/var/run/netns/pod-1 -- ip");
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.ran(KNOCK), 0);
  assert.equal(stage.reason("pods-IPv4"), "not-tested");
  await stage.preflight.stop();
});

test("one knock a minute at most, while nobody answers", async () => {
  const stage = new Stage();
  stage.answers.set(KNOCK, "silence");
  stage.answers.set("ip -o link", `${LINK}\n8: v@if2: <UP> link-netns pod-2`);
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.ran(KNOCK), 1);
  await stage.minute();
  assert.equal(stage.ran("nsenter --net=/var/run/netns/pod-2"), 1, "another pod's turn");
  assert.equal(stage.ran(KNOCK), 0);
  await stage.preflight.stop();
});

test("what could not be tried for a moment is tried again, not left open for ever", async () => {
  const stage = new Stage();
  stage.answers.delete("env");
  stage.answers.delete("iptables-nft --version");
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.reason("tools"), "not-tested");
  assert.equal(stage.reason("extensions-IPv4"), "not-tested");
  stage.answers.set("env", "");
  stage.answers.set("iptables-nft --version", "iptables v1.8.9");
  await stage.minute();
  assert.equal(stage.reason("tools"), undefined);
  assert.equal(stage.reason("extensions-IPv4"), undefined);
  await stage.preflight.stop();
});

test("extensions are tried once if all are there, and every minute while one is missing", async () => {
  const stage = new Stage();
  stage.answers.set("env", "recent: no such module\n");
  stage.preflight.start();
  await stage.settle();
  await stage.minute();
  assert.equal(stage.ran("env"), 2);
  assert.equal(stage.reason("extensions-IPv4"), "extension-missing");
  stage.answers.set("env", "");
  await stage.minute();
  await stage.minute();
  assert.equal(stage.ran("env"), 1);
  assert.equal(stage.reason("extensions-IPv4"), undefined);
  await stage.preflight.stop();
});

test("stopped in the middle of a look, it ends, and tells nothing of what it cut short", async () => {
  const stage = new Stage();
  stage.hangs = true;
  stage.preflight.start();
  await stage.settle();
  await stage.preflight.stop();
  assert.deepEqual(stage.told, []);
  assert.equal(stage.clock.pending, 0);
  stage.preflight.again();
  await stage.settle();
  assert.deepEqual(stage.told, []);
});

test("a Service range that only the API server tells of counts from the look on that hears of it", async () => {
  const stage = new Stage();
  stage.preflight.start();
  await stage.settle();
  assert.equal(stage.reason("service-range-IPv4"), "not-tested");
  stage.toldServiceCidrs = [cidr("10.96.0.0/12"), cidr("241.96.0.0/12")];
  await stage.minute();
  assert.equal(stage.reason("service-range-IPv4"), "service-range-overlap");
  stage.toldServiceCidrs = [cidr("10.96.0.0/12")];
  await stage.minute();
  assert.equal(stage.reason("service-range-IPv4"), undefined);
  await stage.preflight.stop();
});
