import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelNftables, nftablesBackend } from "../../../test/doubles/model-nftables.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import type { Held } from "../objects.ts";
import { timeoutOf } from "./affinity.ts";
import { REPLACED } from "./listing.ts";
import type { SkeletonOptions } from "./sets.ts";

const OPTIONS: SkeletonOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
  affinity: "remembered",
};
const A = { address: "10.1.0.11", port: 8080, cluster: "c1" };
const B = { address: "10.2.0.11", port: 8080, cluster: "c2" };
const KEY = "demo/serve";

/** A kernel, and the agent that writes to it. */
class World {
  readonly kernel: ModelNftables;
  held: Held = new Map();
  options = OPTIONS;
  #backend: ReturnType<typeof nftablesBackend>;
  #ruleset: ReturnType<ReturnType<typeof nftablesBackend>["ruleset"]>;

  constructor() {
    this.kernel = new ModelNftables(OPTIONS);
    this.#backend = nftablesBackend(OPTIONS);
    this.#ruleset = this.#backend.ruleset();
  }

  /** Sets the services of one import; returns nft's commands, without the first skeleton. */
  set(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    const isNew = this.held.size === 0;
    this.#ruleset.set(KEY, services, { kept });
    const tx = finished(this.#backend.diff(this.held, finished(this.#ruleset.take())));
    this.kernel.run(tx);
    tx.settle(this.held);
    assert.deepEqual(this.held, this.kernel.read(this.options));
    assert.deepEqual(this.held, this.kernel.believed(this.options));
    const text = isNew ? tx.toString().replace(tx.commands.skeleton, "") : tx.toString();
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) =>
      line.replaceAll(" ip clusterset-proxy", "").replaceAll(/ #[\w-]{16}"/g, ' #…"'),
    );
  }

  /** A new process, which believes the digests of endpoints. */
  restart(): void {
    this.held = this.kernel.believed(this.options) ?? this.kernel.read(this.options);
    this.#backend = nftablesBackend(this.options);
    this.#ruleset = this.#backend.ruleset();
  }
}

const web = (...endpoints: VirtualService["endpoints"]) =>
  virtualService({
    importKey: KEY,
    portName: "http",
    port: 80,
    vips: ["241.0.0.10"],
    tier: "local",
    endpoints,
  });

const shares = (c1: number, c2: number) => [
  { cluster: "c1", weight: c1 },
  { cluster: "c2", weight: c2 },
];

/** A world that has these services. */
function worldOf(...services: readonly VirtualService[]): World {
  const world = new World();
  world.set(services);
  return world;
}

describe("the changes of a service", () => {
  test("a new one: its endpoints by slot, and their number", () => {
    assert.deepEqual(new World().set([web(A, B)]), [
      'add element endpoints { 241.0.0.10 . tcp . 80 . none comment "demo/serve:http local c1" : 10.1.0.11 . 8080, 241.0.0.10 . tcp . 80 . 0:1 comment "demo/serve:http local c2" : 10.2.0.11 . 8080 }',
      'add element services { 241.0.0.10 . tcp . 80 comment "demo/serve:http local #…" : 0:2 }',
    ]);
  });

  test("one without endpoints has no slots, and says why", () => {
    const { tier: _, ...none } = { ...web(), reason: "no-endpoint" } as const;
    assert.deepEqual(new World().set([none]), [
      'add element services { 241.0.0.10 . tcp . 80 comment "demo/serve:http no-endpoint" : none }',
    ]);
  });

  test("a kept one stays as it is", () => {
    const world = worldOf(web(A));
    world.restart();
    assert.deepEqual(world.set([], [web(B)]), []);
  });

  test("a VIP outside the ClusterSet CIDR is in its set as long as it is needed", () => {
    const world = new World();
    const explicit = { ...web(A), vips: ["198.51.100.7"] };
    assert.equal(world.set([explicit])[0], "add element explicit { 198.51.100.7 }");
    assert.equal(world.set([]).at(-1), "delete element explicit { 198.51.100.7 }");
  });

  test("shares: units lead to groups, and groups to endpoints; other weights change no endpoint", () => {
    const world = new World();
    const C = { ...B, address: "10.2.0.12" };
    world.set([web(A, B, C)]);
    world.set([{ ...web(A, B, C), shares: shares(1, 2) }]);
    const { elements, chains } = world.kernel;
    const values = (set: string) =>
      [...(elements.get(set)?.values() ?? [])].map(({ key, value }) => {
        return `${key.split(" ").at(-1)} ${value}`;
      });
    assert.deepEqual(values("services"), ["80 1073741827"]);
    assert.deepEqual(values("choices"), ["0 1048577", "1 2097154", "2 2097154"]);
    assert.deepEqual(values("endpoints"), [
      "0 0a01000b 8080",
      "1048576 0a01000b 8080",
      "2097152 0a02000b 8080",
      "2097153 0a02000c 8080",
    ]);
    for (const name of ["share-3", "pick-1-of-1", "pick-2-of-2"]) assert.ok(chains.has(name), name);
    const before = values("endpoints");
    world.restart();
    world.set([{ ...web(A, B, C), shares: shares(1, 9) }]);
    assert.deepEqual(values("endpoints"), before);
    world.restart();
    assert.deepEqual(world.set([{ ...web(A, B, C), shares: shares(1, 9) }]), []);
    world.set([web(A, B, C)]);
    assert.deepEqual(values("choices"), []);
  });
});

/** Of so many endpoints. */
const sized = (size: number) =>
  web(...Array.from({ length: size }, (_, i) => ({ ...A, port: 1 + i })));

describe("chains for what few services need", () => {
  const many = Array.from({ length: 65 }, (_, i) => ({ ...A, address: `10.1.1.${i}` }));

  test("more than 64 slots have a chain of their own, which stays", () => {
    const world = worldOf(web(A));
    const lines = world.set([web(...many)]);
    assert.ok(lines.includes("add element picks { 0:41 : goto pick-65 }"), lines.join("\n"));
    assert.ok(world.kernel.chains.has("pick-65"));
    world.restart();
    world.set([web(A)]);
    assert.ok(world.kernel.chains.has("pick-65"));
    assert.ok(
      !world
        .set([web(...many)])
        .join("\n")
        .includes("chain"),
    );
  });

  test("many that no service uses are deleted: first nothing leads to them any more, then they are gone", () => {
    const world = new World();
    const sticky = (size: number) => ({ ...sized(size), affinitySeconds: 60 });
    const larger = (name: string) => Number(/^hash-(\d+)$/.exec(name)?.[1]) > 64;
    const chains = () => [...world.kernel.chains.keys()].filter(larger).length;
    for (let size = 65; size <= 129; size++) world.set([sticky(size)]);
    assert.equal(chains(), 65);
    world.set([sticky(130)]);
    assert.equal(chains(), 66, "64 others may stay; these are 65");
    assert.equal(world.kernel.branches.get("hashes")?.size, 64 + 1);
    assert.match(world.kernel.chains.get("hash-94")?.rules.join() ?? "", /unused/);
    world.set([sticky(94)]);
    assert.match(world.kernel.chains.get("hash-94")?.rules.join() ?? "", /jhash/, "mended");
    world.restart();
    world.set([sticky(94)]);
    assert.equal(chains(), 2);
    world.restart();
    assert.deepEqual(world.set([sticky(94)]), []);
    world.set([sticky(95)]);
    assert.equal(world.kernel.chains.get("hash-95")?.rules.length, 1, "made again");
  });

  test("those of kept services stay", () => {
    const world = worldOf(web(...many));
    world.restart();
    assert.deepEqual(world.set([], [web(A)]), []);
  });

  test("a weighted import that is scaled again and again leaves few chains, and those in use", () => {
    const world = new World();
    const other = { ...web(...many), portName: "other", port: 81 };
    for (let size = 1; size <= 140; size++) {
      const c2 = Array.from({ length: size }, (_, i) => ({
        ...B,
        address: `10.2.${i >> 8}.${i & 255}`,
      }));
      world.set([{ ...web(A, ...c2), shares: shares(1, 1) }, other]);
      const extra = [...world.kernel.chains.keys()].filter((name) => /-of-|share/.test(name));
      assert.ok(extra.length <= 2 * 64 + 8, `${extra.length} chains`);
      const needed = ["share-2", "pick-1-of-1", `pick-${size}-of-2`, "pick-65"];
      for (const name of needed)
        assert.ok((world.kernel.chains.get(name)?.rules.length ?? 0) > 1, name);
    }
  });

  test("affinity: a timeout is exact if it is usual, and else at most an eighth longer", () => {
    const USUAL = [1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 240, 10_800];
    for (const seconds of USUAL) {
      const world = worldOf({ ...web(A, B), affinitySeconds: seconds });
      const [{ value } = assert.fail()] = world.kernel.elements.get("affinity")?.values() ?? [];
      assert.equal(value, `${seconds}`);
    }
    const all = Array.from({ length: 86_400 }, (_, i) => timeoutOf(i + 1) / (i + 1));
    assert.ok(all.every((ratio) => ratio >= 1 && ratio <= 9 / 8));
    const timeouts = new Set(all.map((ratio, i) => Math.round(ratio * (i + 1))));
    assert.ok(timeouts.size < 128, `${timeouts.size} timeouts`);
    const { branches, chains } = worldOf(web(A)).kernel;
    for (const seconds of timeouts) assert.ok(chains.has(`touch-${seconds}`), `${seconds}`);
    assert.equal(branches.get("touches")?.size, timeouts.size);
  });

  test("affinity: an endpoint has the same ID whatever endpoints there are beside it", () => {
    const idsOf = (...endpoints: VirtualService["endpoints"]) => {
      const world = worldOf({ ...web(...endpoints), affinitySeconds: 60 });
      const found = [...(world.kernel.elements.get("endpoints")?.values() ?? [])];
      return new Map(found.map(({ key, value }) => [value, key.split(" ").at(-1)]));
    };
    assert.equal(idsOf(A).get("0a02000b 8080"), undefined);
    assert.equal(idsOf(A, B).get("0a02000b 8080"), idsOf(B).get("0a02000b 8080"));
  });
});

describe("a table that another program has changed", () => {
  test("rules of another digest are written again, and elements stay", () => {
    const world = worldOf(web(A));
    const guard = world.kernel.chains.get("guard");
    assert.ok(guard);
    guard.rules.unshift("accept");
    world.restart();
    const lines = world.set([web(A)]);
    assert.ok(lines.includes("flush chain guard"));
    assert.ok(!lines.some((line) => line.includes("element endpoints")), lines.join("\n"));
  });

  test("a chain of another release becomes empty, and the table is whole", () => {
    const world = worldOf(web(A));
    world.kernel.chains.set("later-2", { rules: ['return comment "later-2 1 0123456789ab"'] });
    world.restart();
    assert.ok(world.set([web(A)]).includes("flush chain later-2"));
    world.restart();
    assert.deepEqual(world.set([web(A)]), []);
  });

  test("when a table is mended, the chain that a service leaves keeps its rules until its elements are written", () => {
    const world = worldOf(sized(100));
    world.kernel.chains.get("guard")?.rules.unshift("accept");
    world.restart();
    const lines = world.set([sized(99)]);
    const elements = lines.findIndex((line) => line.includes("element services"));
    const chain = lines.findIndex((line) => line.startsWith("add rule pick-100 "));
    assert.ok(chain >= 0 && chain < elements, lines.join("\n"));
  });

  test("a chain that a service leaves is emptied after its elements", () => {
    const world = worldOf(sized(100));
    let emptied = 0;
    for (let size = 101; size < 200; size++) {
      const lines = world.set([sized(size)]);
      const flushed = lines.findIndex((line) => /^flush chain pick-\d/.test(line));
      const written = lines.findLastIndex((line) => line.includes("element services"));
      if (flushed >= 0 && lines.some((line) => line.includes("unused"))) emptied++;
      const retired = lines.findIndex((line) => line.includes("unused"));
      assert.ok(retired < 0 || retired > written, lines.join("\n"));
    }
    assert.ok(emptied > 0);
  });

  test("chains of another release that no service needs are deleted when its table is mended", () => {
    const world = worldOf({ ...sized(65), affinitySeconds: 60 });
    const { chains, branches } = world.kernel;
    // As in 0.2.0.
    chains.set("sticky-20", { rules: ['goto assign-20 comment "sticky-20 1 0123456789ab"'] });
    chains.set("assign-20", { rules: ['goto translate comment "assign-20 1 0123456789ab"'] });
    branches.get("touches")?.set("0:14", "goto sticky-20");
    world.restart();
    world.set([web(A)]);
    for (const name of ["sticky-20", "assign-20"]) assert.ok(!chains.has(name), name);
    world.restart();
    assert.deepEqual(world.set([web(A)]), []);
  });

  test("without memory of clients, chains that choose at random go, and the table is whole", () => {
    const sticky = { ...web(A, B), affinitySeconds: 60 };
    const world = worldOf(sticky);
    const { chains, branches } = world.kernel;
    assert.ok(chains.get("draw-2")?.rules.length);
    world.options = { ...OPTIONS, affinity: "hashed" };
    world.restart();
    world.set([sticky]);
    assert.ok(!chains.has("draw-2"));
    assert.equal(branches.get("draws")?.size, 0);
    world.restart();
    assert.deepEqual(world.set([sticky]), []);
  });

  test("an element of another form: the table is replaced", () => {
    const world = worldOf(web(A));
    world.restart();
    world.held = new Map(REPLACED);
    assert.ok(world.set([web(A)]).includes("delete table"));
  });
});
