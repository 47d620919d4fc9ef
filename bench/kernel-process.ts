/**
 * One backend in the network namespace of this process, which has no rules: a cold sync, then a restart with existing rules, and changes of one
 * slice, each alone. Prints a `KernelRun`. Arguments: title, services, endpoints of each, changes, and a network namespace
 * where the backend's simplest tool does the same with the same text; without it, no text is made.
 */
import { keepHeapSmall } from "../common/process.ts";
import { backendOf } from "./backends.ts";
import { bareRun } from "./bare.ts";
import { type Pass, Pipeline } from "./pipeline.ts";
import { services, without } from "./services.ts";

/** Times in milliseconds. */
export type Timed = Omit<Pass, "tx"> & {
  /** Rules or elements written. */
  readonly writes: number;
  /** The simplest tool with the same text. NaN, in JSON null, if that was not measured. */
  readonly bare: number | null;
};

/** What is printed. */
export interface KernelRun {
  readonly cold: Timed;
  /** Absent without changes. */
  readonly restart?: Timed;
  readonly changes: readonly Timed[];
  /** The maximum of this process, in megabytes of a million bytes. */
  readonly peakMB: number;
}

keepHeapSmall();
const [title = "", ...rest] = process.argv.slice(2);
const [count = 0, endpoints = 0, rounds = 0] = rest.slice(0, 3).map(Number);
const backend = backendOf(title);
const beside = rest[3];
const world = services({ services: count, endpoints });

const first = started();
const cold = await timed(await first.pass());
await first.close();
const again = rounds === 0 ? undefined : started();
const restart = again && (await timed(await again.pass()));
const changes: Timed[] = [];
for (let i = 0; again !== undefined && i < rounds; i++) {
  // A prime step, so that neighbours in the list are not changed one after the other.
  const one = world[(i * 7_919) % count];
  if (one === undefined) throw new Error("no service");
  const slice = without(one.slice, Math.floor(i / count));
  const pass = await again.pass(() => again.model.setSlice(slice, 0));
  if (pass.tx.empty) throw new Error("nothing has changed, so nothing was measured");
  changes.push(await timed(pass));
}
await again?.close();
const peakMB = (process.resourceUsage().maxRSS * 1024) / 1e6;
console.log(
  JSON.stringify({ cold, ...(restart && { restart }), changes, peakMB } satisfies KernelRun),
);

/** As an agent that has just listed. */
function started(): Pipeline {
  const pipeline = new Pipeline(backend.open());
  pipeline.list(world);
  return pipeline;
}

async function timed({ tx, ...pass }: Pass): Promise<Timed> {
  const within = ["nsenter", `--net=/run/netns/${beside}`, "--"];
  const isBeside = beside !== undefined && !tx.empty;
  const bare = isBeside ? await bareRun(backend.tool, tx.toString(), within) : null;
  return { ...pass, writes: backend.written(tx), bare };
}
