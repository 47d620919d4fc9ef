import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { count, figuresOf, servicesOf, time, times } from "./figures.ts";
import { type Effort, ENDPOINTS, effortOf, type Options } from "./options.ts";
import { bareRestore, countRules, iptables, type Pass, Pipeline } from "./pipeline.ts";
import { type Service, type Size, services, without } from "./services.ts";
import { atMostMs, atMostTimes, type Row } from "./table.ts";

/** What becomes of facts, in this process, with each of these numbers of services. */
export async function withoutAgent(flavour: Flavour, options: Options): Promise<Row[]> {
  const rows: Row[] = [];
  for (const services of options.sizes) {
    const effort = effortOf(options, services);
    rows.push(...(await ofSize(flavour, { services, endpoints: ENDPOINTS }, effort)));
  }
  return rows;
}

/** Cold sync, one change, and a start over one's own rules. */
async function ofSize(flavour: Flavour, size: Size, effort: Effort): Promise<Row[]> {
  // Each cold sync has a node of its own, which has never had a rule.
  const names = Array.from(
    { length: effort.coldSyncs },
    (_, i) => [`ours-${i}`, `bare-${i}`] as const,
  );
  const nodes = names.flat().map((name) => ({ name }));
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const world = services(size);
  const passes: Pass[] = [];
  const restores: number[] = [];
  for (const [ours, bare] of names) {
    const pipeline = new Pipeline(iptables(flavour, lab.node("c1", ours)));
    pipeline.list(world);
    const pass = await pipeline.pass();
    await pipeline.close();
    passes.push(pass);
    restores.push(await bareRestore(flavour, lab.node("c1", bare), pass.text));
  }
  const changes = await oneChange(flavour, lab.node("c1", "ours-0"), world, effort.changes);
  if (size.services === 1) return changes;
  const half = (of: (pass: Pass) => number) => figuresOf(passes.map(of)).p50;
  const [total, bare] = [half((pass) => pass.total), figuresOf(restores).p50];
  return [
    {
      what: `cold sync, ${count(size.services)} services: p50 of ${names.length}`,
      ours: time(total),
      beside: `${time(bare)} one restore`,
      ...atMostTimes(1.3, total / bare),
    },
    {
      what: "  of which read / plan to text / kernel",
      ours: time(
        half(({ read }) => read),
        half(({ ours }) => ours),
        half(({ kernel }) => kernel),
      ),
    },
    ...changes,
  ];
}

/** On a node that is loaded already, or is to be: starts over it, changes slices one by one. */
async function oneChange(
  flavour: Flavour,
  place: Namespace,
  world: readonly Service[],
  changes: number,
): Promise<Row[]> {
  const pipeline = new Pipeline(iptables(flavour, place));
  pipeline.list(world);
  const start = await pipeline.pass();
  const [all, own, bare, rules] = [[], [], [], []] as [number[], number[], number[], number[]];
  for (let i = 0; i < changes; i++) {
    // A prime step, so that neighbours in the list are not changed one after the other.
    const one = world[(i * 7_919) % world.length];
    if (one === undefined) throw new Error("no service");
    const slice = without(one.slice, Math.floor(i / world.length));
    const { total, ours, text } = await pipeline.pass(() => pipeline.model.setSlice(slice, 0));
    if (text === "") throw new Error("nothing has changed, so nothing was measured");
    all.push(total);
    own.push(ours);
    rules.push(countRules(text));
    bare.push(await bareRestore(flavour, place, text));
  }
  await pipeline.close();
  const [live, spawned, most] = [figuresOf(all), figuresOf(bare), figuresOf(rules).max];
  const endpoints = world[0]?.slice.endpoints.length ?? 0;
  const ratio = live.p50 / spawned.p50;
  const change: Row = {
    what: `one slice changes, ${servicesOf(world.length)}: p50 / p99 / max`,
    ours: times(live),
    beside: `${times(spawned)} one restore`,
    ...(world.length > 1_000 ? atMostTimes(1.3, ratio) : { ratio }),
  };
  if (world.length === 1) return [{ ...change, target: atMostMs("p50", 5, live.p50) }];
  return [
    flavour === "legacy" || world.length > 1_000
      ? change
      : { ...change, target: atMostMs("p99", 50, live.p99) },
    { what: "  of which plan, render, compare", ours: times(figuresOf(own)) },
    {
      what: "  rules written",
      ours: `${most} at most`,
      beside: `${endpoints} endpoints`,
      ratio: most / endpoints,
      target: { text: "O(endpoints)", met: most <= endpoints },
    },
    {
      what: "  restart with existing rules: read, compare",
      ours: time(start.total),
      beside: `${time(start.read)} read alone`,
      ratio: start.total / start.read,
      target: { text: "writes nothing", met: start.text === "" },
    },
  ];
}
