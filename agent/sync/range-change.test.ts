import assert from "node:assert/strict";
import { test } from "node:test";
import type { Family } from "../../api/address.ts";
import { FakeBackend, quiet } from "../../test/doubles/fake-backend.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { FakeSource } from "../../test/doubles/fake-source.ts";
import { SILENT } from "../../test/doubles/silent-events.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { readiness } from "../observe/readiness.ts";
import { Agent } from "./agent.ts";

type Kernels = Readonly<Record<Family, FakeBackend>>;

/** An agent with these ClusterSet CIDRs, that starts on a node with what `before` holds. */
class Bench {
  readonly clock = new FakeClock();
  readonly source = new FakeSource();
  readonly kernels: Kernels = { IPv4: new FakeBackend(), IPv6: new FakeBackend() };
  readonly agent: Agent;

  constructor(ranges: readonly string[], before?: Kernels) {
    for (const family of ["IPv4", "IPv6"] as const) {
      for (const [key, text] of before?.[family].kernel ?? []) {
        this.kernels[family].kernel.set(key, text);
      }
    }
    this.agent = new Agent({
      today: () => 0,
      node: () => nodeFact({ clusterSetCidrs: ranges.map(cidr) }),
      sources: [this.source],
      backends: new Map([
        ["IPv4", this.kernels.IPv4],
        ["IPv6", this.kernels.IPv6],
      ]),
      clock: this.clock,
      random: () => 0,
      events: {
        listed: () => undefined,
        planned: () => undefined,
        problems: () => undefined,
        reconciled: () => undefined,
        failed: () => undefined,
        ...SILENT,
      },
    });
  }

  async started(): Promise<void> {
    this.agent.start();
    this.move("241.0.0.10", "fd00:241::10");
    const of = { cluster: "c1" };
    const four = sliceFact({ ...of, key: "demo/four", endpoints: ["10.1.0.1"] });
    const six = sliceFact({ ...of, key: "demo/six", family: "IPv6", endpoints: ["fd10:1::1"] });
    for (const slice of [four, six]) this.source.tell.sliceChanged(slice, 0);
    this.source.tell.listed();
    await quiet();
  }

  /** The controller gives the import these VIPs. */
  move(...vips: readonly string[]): void {
    this.source.tell.importChanged(importFact({ vips }), this.clock.now());
  }

  async pass(ms: number): Promise<void> {
    await quiet();
    this.clock.advance(ms);
    await quiet();
  }

  /** Checks of the first sync that fail on /readyz. */
  get failing(): string[] {
    const checks = readiness({ listed: true, families: this.agent.families }, this.clock.now());
    return checks.flatMap(({ name, reason }) =>
      reason === undefined || !name.startsWith("first-sync") ? [] : `${name} ${reason}`,
    );
  }

  get held(): unknown {
    return [[...this.kernels.IPv4.kernel], [...this.kernels.IPv6.kernel]];
  }
}

const OLD = ["241.0.0.0/8", "fd00:241::/108"];
const NEW = ["242.0.0.0/8", "fd00:242::/108"];

async function before(): Promise<Bench> {
  const bench = new Bench(OLD);
  await bench.started();
  await bench.agent.stop();
  return bench;
}

test("an agent that starts with another range writes nothing, and is not ready, until VIPs are in it", async () => {
  const old = await before();
  const bench = new Bench(NEW, old.kernels);
  await bench.started();
  for (let ms = 0; ms < 120_000; ms += 5_000) {
    assert.deepEqual(bench.failing, ["first-sync-IPv4 mass-loss", "first-sync-IPv6 mass-loss"]);
    await bench.pass(5_000);
  }
  assert.deepEqual(bench.held, old.held);
  bench.move("242.0.0.10", "fd00:242::10");
  await bench.pass(5_000);
  assert.deepEqual(bench.failing, []);
  assert.match(JSON.stringify(bench.held), /242\.0\.0\.10.*fd00:242::10/);
  await bench.agent.stop();
});

test("an agent that starts with one range of a family changed holds the rules of that family only", async () => {
  const old = await before();
  const bench = new Bench(["241.0.0.0/8", "fd00:242::/108"], old.kernels);
  await bench.started();
  await bench.pass(60_000);
  assert.deepEqual(bench.failing, ["first-sync-IPv6 mass-loss"]);
  assert.deepEqual(bench.held, old.held);
  await bench.agent.stop();
});

for (const ranges of [
  [...OLD, ...NEW],
  [...NEW, ...OLD],
]) {
  test(`an agent that starts with ${ranges.join()} is ready at once, with the same rules`, async () => {
    const old = await before();
    const bench = new Bench(ranges, old.kernels);
    await bench.started();
    assert.deepEqual(bench.failing, []);
    assert.deepEqual(bench.held, old.held);
    await bench.agent.stop();
  });
}

test("a node without rules has nothing to keep", async () => {
  const bench = new Bench(NEW);
  await bench.started();
  assert.deepEqual([bench.failing, bench.held], [[], [[], []]]);
  await bench.agent.stop();
});
