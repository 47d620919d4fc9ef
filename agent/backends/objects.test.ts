import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { finished } from "./backend.ts";
import {
  accept,
  type Change,
  changeOf,
  DesiredObjects,
  differences,
  type Held,
  type Lifecycle,
  type Part,
} from "./objects.ts";

/** Spares begin with `s`; a deletion leaves an unused one, and the next deletes it. */
const SPARES: Lifecycle<undefined> = {
  after: (id, before, part) => {
    if (part !== undefined) return part.digest;
    return id.startsWith("s") && before !== "unused" ? "unused" : undefined;
  },
  isSpare: (id) => id.startsWith("s"),
  most: 2,
};

type Content = undefined;

/** A kernel that makes changes live, and an agent that knows of it what it has read and written. */
class World {
  readonly kernel: Held = new Map();
  readonly desired = new Map<string, readonly Part<Content>[]>();
  held: Held = new Map();
  #objects = new DesiredObjects<Content>(SPARES);

  set(owner: string, parts: readonly Part<Content>[], kept: readonly string[] = []): void {
    this.desired.set(owner, parts);
    this.#objects.set(owner, parts, kept);
  }

  write(isAccepted = true): Change<Content> {
    const change = finished(changeOf(this.held, this.#objects.take(), SPARES));
    if (!isAccepted) {
      this.restart();
      return change;
    }
    for (const id of change.deletes.keys()) assert.ok(this.kernel.has(id), `no ${id}`);
    accept(this.kernel, change);
    accept(this.held, change);
    assert.deepEqual(differences(this.held, this.kernel), []);
    return change;
  }

  /** A new process, or a pass after a failure: reads, and compares everything. */
  restart(): void {
    this.held = new Map(this.kernel);
    this.#objects = new DesiredObjects(SPARES);
    for (const [owner, parts] of this.desired) this.#objects.set(owner, parts);
  }

  get spares(): number {
    const wanted = new Set([...this.desired.values()].flat().map(({ id }) => id));
    const others = [...this.kernel].filter(([id]) => SPARES.isSpare(id) && !wanted.has(id));
    return others.filter(([, { digest }]) => digest !== "unused").length;
  }
}

const part = (id: string, digest = "1"): Part<Content> => ({ id, digest, content: undefined });
const idsOf = (change: Change<Content>) => [[...change.puts.keys()], [...change.deletes.keys()]];

const OWNERS = ["a", "b", "c"];
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        owner: fc.constantFrom(...OWNERS),
        own: fc.subarray([0, 1, 2]),
        version: fc.constantFrom("1", "2"),
        shared: fc.subarray(["x", "y", "s1", "s2", "s3", "s4", "s5"]),
      }),
    },
    fc.constantFrom("write", "write", "rejected", "restart", "lost", "foreign"),
  ),
  { maxLength: 30 },
);

test("any history of changes, rejections, losses, foreign objects and restarts ends with what is desired, and few spares", async () => {
  await forMany(Number(process.env.RUNS ?? 300), [steps], (history) => {
    const world = new World();
    for (const step of history) {
      if (typeof step === "object") {
        const { owner, own, version, shared } = step;
        const parts = own.map((i) => part(`${owner}${i}`, version));
        world.set(owner, [...parts, ...shared.map((id) => part(id))]);
      } else if (step === "restart") world.restart();
      else if (step === "lost") {
        const [first] = world.kernel.keys();
        if (first !== undefined) world.kernel.delete(first);
        world.restart();
      } else if (step === "foreign") {
        world.kernel.set("foreign", { digest: "9" });
        world.restart();
      } else world.write(step === "write");
    }
    world.write();
    world.restart();
    world.write();
    const wanted = new Map(
      [...world.desired.values()].flat().map(({ id, digest }) => [id, digest]),
    );
    for (const [id, digest] of wanted) assert.equal(world.kernel.get(id)?.digest, digest, id);
    for (const id of world.kernel.keys()) assert.ok(wanted.has(id) || SPARES.isSpare(id), id);
    assert.ok(world.spares <= SPARES.most);
    world.restart();
    assert.deepEqual(idsOf(world.write()), [[], []], "a restart writes nothing");
  });
});

test("a change writes only what differs, and an object goes with its last owner", () => {
  const world = new World();
  world.set("a", [part("a1"), part("x")]);
  world.set("b", [part("b1"), part("x")]);
  assert.deepEqual(idsOf(world.write()), [["a1", "x", "b1"], []]);
  world.set("a", [part("a1", "2")]);
  assert.deepEqual(idsOf(world.write()), [["a1"], []]);
  world.set("b", []);
  assert.deepEqual(idsOf(world.write()), [[], ["b1", "x"]]);
  assert.deepEqual(idsOf(world.write()), [[], []]);
});

test("what is kept stays, whether the kernel holds it or not, and so do spares, which it may need", () => {
  const world = new World();
  const spares = [1, 2, 3].map((i) => part(`s${i}`));
  world.set("a", [part("a1"), part("a2"), ...spares]);
  world.write();
  world.restart();
  world.set("a", [part("a1", "2")], ["a2", "a3"]);
  assert.deepEqual(idsOf(world.write()), [["a1"], []]);
  world.set("a", [part("a1", "2")]);
  assert.deepEqual(idsOf(world.write()), [[], ["a2", "s1", "s2", "s3"]]);
  assert.equal(world.kernel.get("s1")?.digest, "unused");
  world.restart();
  assert.deepEqual(idsOf(world.write()), [[], ["s1", "s2", "s3"]]);
});

test("an object that the kernel does not delete yet is deleted later", () => {
  const held: Held = new Map([["s1", { digest: "unused" }]]);
  const change = finished(changeOf(held, new DesiredObjects<Content>(SPARES).take(), SPARES));
  accept(held, change, new Set(["s1"]));
  assert.equal(held.size, 1);
  accept(held, change);
  assert.equal(held.size, 0);
});
