import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RequestFault, WatchFault } from "../../test/doubles/memory/faults.ts";
import type { Fields } from "../../test/doubles/memory/fields.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";
import { LONGEST_WRITE_MS } from "./writer.ts";

/** Something that happens to an API server, or on the way to it. */
type Step =
  | { readonly do: "put"; readonly name: string; readonly value: number }
  | { readonly do: "delete"; readonly name: string }
  /** What a `put` was answered with arrives only now: one of the last, so many before the last. */
  | { readonly do: "answer"; readonly back: number }
  | { readonly do: "compact" }
  | { readonly do: "restore"; readonly names: readonly string[]; readonly back: number }
  | { readonly do: "serve"; readonly versions: readonly string[] }
  | { readonly do: "initial"; readonly events: "sent" | "refused" | "ignored" }
  | { readonly do: "fault"; readonly fault: RequestFault }
  | { readonly do: "disturb"; readonly fault: WatchFault }
  | { readonly do: "throw" }
  | { readonly do: "wait"; readonly ms: number };

const name = fc.integer({ min: 0, max: 30 }).map((i) => `o${i}`);
const served = [["v1"], ["v1beta1"], ["v1", "v1beta1"], []];
const disturbances: WatchFault[] = ["close", "reset", "freeze", "garbage", "expired"];

const requestFault: fc.Arbitrary<RequestFault> = fc.oneof(
  fc.record({
    kind: fc.constant("status" as const),
    status: fc.constantFrom(400, 401, 403, 404, 410, 422, 429, 500, 503, 504),
    retryAfter: fc.constantFrom("0", "3", "100"),
  }),
  fc.record({ kind: fc.constantFrom("refused" as const, "silent" as const) }),
  fc.record({
    kind: fc.constant("body" as const),
    text: fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom("", "{}", "\n\n", '{"items":[]}', '{"type":"BOOKMARK"}\n', '{"items":[{}]}'),
    ),
  }),
  fc.record({
    kind: fc.constant("half" as const),
    bytes: fc.nat(900),
    clean: fc.boolean(),
  }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("put" as const), name, value: fc.nat(99) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("answer" as const), back: fc.nat(3) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("restore" as const),
      names: fc.array(name),
      // So far that nothing in a run catches up: nobody could tell such a server from one that went on.
      back: fc.integer({ min: 60, max: 90 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("serve" as const),
      versions: fc.constantFrom(...served),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("initial" as const),
      events: fc.constantFrom("sent" as const, "refused" as const, "ignored" as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("fault" as const), fault: requestFault }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("disturb" as const),
      fault: fc.constantFrom(...disturbances, "half-line" as const, "repeat" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("throw" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(0, 10, 1000, 5000, 12_000, 40_000, 200_000),
    }),
  },
);

/** What was written last, and when: nobody takes an answer that is older than a request may take. */
type Answers = { readonly object: Fields; readonly at: number }[];

async function take(it: ReflectorStage, step: Step, answers: Answers): Promise<void> {
  const { clock, reflector, server } = it;
  if (step.do === "put") {
    it.things.put(step.name, step.value);
    const object = it.things.get(step.name);
    assert.ok(object);
    answers.unshift({ object, at: clock.now() });
  }
  if (step.do === "answer") {
    const { object, at = 0 } = answers[step.back] ?? {};
    if (object !== undefined && clock.now() - at <= LONGEST_WRITE_MS) reflector.wrote(object);
  }
  if (step.do === "delete") it.things.delete(step.name);
  if (step.do === "compact") server.objects.compact();
  if (step.do === "restore" && !it.things.restored) {
    it.things.restore(step.names, it.things.version - step.back);
    server.disturb("reset");
    answers.splice(0);
    // etcd and the API server have to be stopped for it.
    server.faults.push({ kind: "refused" });
  }
  if (step.do === "serve") server.served = step.versions;
  if (step.do === "initial") server.initialEvents = step.events;
  if (step.do === "fault") server.faults.push(step.fault);
  if (step.do === "disturb") server.disturb(step.fault);
  if (step.do === "throw") it.throwing++;
  if (step.do === "wait") await it.pass(step.ms);
  else await it.settle();
}

const world = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  page: fc.integer({ min: 1, max: 9 }),
  cut: fc.integer({ min: 1, max: 300 }),
  random: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
});

test("through any faults, it ends in the server's state, and removes nothing else", () =>
  forMany(Number(process.env.RUNS ?? 80), [world], async ({ steps, page, cut, random }) => {
    const it = new ReflectorStage({ versions: ["v1", "v1beta1"] }, () => random);
    it.server.page = page;
    it.server.chunk = cut;
    for (let i = 0; i < 12; i++) it.things.put(`o${i}`, i);
    await it.start();
    const answers: Answers = [];
    for (const one of steps) await take(it, one, answers);
    it.throwing = 0;
    it.server.faults.splice(0);
    it.server.served = ["v1"];
    // All that it waits for is over by then: a Retry-After, a silent watch, the end of the next one.
    await it.pass(1_200_000);
    assert.deepEqual(it.wrong, []);
    assert.equal(it.state, "watching");
    const sorted = (map: Map<string, number>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted(it.believed), sorted(it.actual));
    assert.equal(it.told.filter((line) => line === "listed").length, 1);
    await it.stop();
    await it.pass(100_000);
    assert.deepEqual(it.wrong, []);
  }));
