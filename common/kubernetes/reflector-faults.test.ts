import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RequestFault, WatchFault } from "../../test/doubles/memory/faults.ts";
import type { Fields } from "../../test/doubles/memory/fields.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { type Made, step } from "../../test/generators/steps.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";
import { LONGEST_WRITE_MS } from "./writer.ts";

const name = fc.integer({ min: 0, max: 30 }).map((i) => `o${i}`);
const served = [["v1"], ["v1beta1"], ["v1", "v1beta1"], []];
const disturbances: WatchFault[] = [
  ...(["close", "reset", "freeze", "garbage", "expired"] as const),
  ...(["half-line", "repeat"] as const),
];

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

/** Something that happens to an API server, or on the way to it. */
const anyStep = fc.oneof(
  step(8, "put", { name, value: fc.nat(99) }),
  step(5, "delete", { name }),
  // What a `put` was answered with arrives only now: one of the last, so many before the last.
  step(5, "answer", { back: fc.nat(3) }),
  step(2, "compact"),
  // So far that nothing in a run catches up: nobody could tell such a server from one that went on.
  step(1, "restore", { names: fc.array(name), back: fc.integer({ min: 60, max: 90 }) }),
  step(1, "serve", { versions: fc.constantFrom(...served) }),
  step(1, "initial", { events: fc.constantFrom("sent", "refused", "ignored") }),
  step(5, "fault", { fault: requestFault }),
  step(5, "disturb", { fault: fc.constantFrom(...disturbances) }),
  step(1, "throw"),
  step(6, "wait", { ms: fc.constantFrom(0, 10, 1000, 5000, 12_000, 40_000, 200_000) }),
);
type Step = Made<typeof anyStep>;

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
  steps: fc.array(anyStep, { minLength: 5, maxLength: 40 }),
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
