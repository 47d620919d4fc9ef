import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { serve } from "../lab/programs.ts";
import type { Connects } from "./connects.ts";
import { type Figures, figuresOf, time } from "./figures.ts";
import { Pipeline } from "./pipeline.ts";
import { type Service, type Size, service } from "./services.ts";
import { atMostTimes, type Row } from "./table.ts";
import { count } from "./without-agent.ts";

/** In turns, so that what else the machine does slows all of them down alike. */
const ROUNDS = 8;
const CONNECTIONS = 150;
/** VIPs that are connected to; the rest are only there. */
const PROBES = 8;

/** A client and a server on one node, and what the client connects to. */
interface Place {
  readonly client: Namespace;
  readonly port: number;
  readonly targets: readonly string[];
  readonly connects: number[];
  readonly handshakes: number[];
}

/** The first packet of a connection: through few VIPs, through all, and to the pod itself without any rule. */
export async function firstPacket(flavour: Flavour, size: Size): Promise<Row[]> {
  const loads = [0, Math.min(10, size.services), size.services];
  // A pod of as many addresses as a service has endpoints: the chain is as long as any, and all is answered.
  const nodes = loads.map((_, n) => {
    const web = Array.from({ length: size.endpoints }, (_, i) => `10.1.${n}.${21 + i}`);
    return { name: `n${n}`, pods: { client: [], web } };
  });
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const pipelines: Pipeline[] = [];
  const places: Place[] = [];
  for (const [n, load] of loads.entries()) {
    const web = nodes[n]?.pods.web ?? [];
    await lab
      .pod("c1", `n${n}`, "web")
      .spawn(serve("--name", "web"))
      .line(/serving/);
    const measured = { client: lab.pod("c1", `n${n}`, "client"), connects: [], handshakes: [] };
    if (load === 0) places.push({ ...measured, port: 8080, targets: web });
    else {
      const world = probed(size, load, web);
      const pipeline = new Pipeline(flavour, lab.node("c1", `n${n}`));
      pipelines.push(pipeline);
      pipeline.list(world.all);
      await pipeline.pass();
      places.push({ ...measured, port: 80, targets: world.probes.map(({ vip }) => vip) });
    }
  }
  for (let round = 0; round < ROUNDS; round++) for (const place of places) await measure(place);
  for (const pipeline of pipelines) await pipeline.close();
  const [direct, ...others] = places;
  if (direct === undefined) return [];
  return others.flatMap((place, i) => rowsOf(`${count(loads[i + 1] ?? 0)} VIPs`, place, direct));
}

/** So many services, of which some, evenly spread, have their endpoints on a real server. */
function probed(size: Size, load: number, web: readonly string[]) {
  const step = Math.max(1, Math.floor(load / PROBES));
  const all = Array.from({ length: load }, (_, i) =>
    service(i + 1, size, i % step === 0 ? web : undefined),
  );
  const probes: Service[] = all.filter((_, i) => i % step === 0);
  return { all, probes };
}

async function measure({ client, port, targets, connects, handshakes }: Place): Promise<void> {
  const program = `${import.meta.dirname}/connects.ts`;
  const argv = [process.execPath, program, String(CONNECTIONS), String(port), ...targets];
  const measured: Connects = JSON.parse(await client.exec(argv));
  connects.push(...measured.connects);
  handshakes.push(...measured.handshakes);
}

function rowsOf(load: string, place: Place, direct: Place): Row[] {
  const row = (what: string, ours: Figures, bare: Figures): Row => ({
    what: `${what}, ${load}: p50 / p99`,
    ours: both(ours),
    beside: `${both(bare)} direct`,
    ...atMostTimes(1.3, ours.p50 / bare.p50),
  });
  return [
    row("SYN to SYN-ACK", figuresOf(place.handshakes), figuresOf(direct.handshakes)),
    row("connect() in Node", figuresOf(place.connects), figuresOf(direct.connects)),
  ];
}

function both({ p50, p99 }: Figures): string {
  return `${time(p50 / 1000)} / ${time(p99 / 1000)}`;
}
