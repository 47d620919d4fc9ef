import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { serve } from "../lab/programs.ts";
import type { Connects } from "./connects.ts";
import { count, figuresOf, time } from "./figures.ts";
import { Pipeline } from "./pipeline.ts";
import { type Service, type Size, service } from "./services.ts";
import { atMostTimes, type Row } from "./table.ts";

/** In turns, so that what else the machine does slows all of them down alike. */
const ROUNDS = 8;
const CONNECTIONS = 150;
/** VIPs that are connected to; the rest are only there. */
const PROBES = 8;
const BY_HAND = "241.0.1.7";

/** What a client is to connect to. */
interface Targets {
  readonly port: number;
  readonly addresses: readonly string[];
}

/** Prepares a node so that the server on the addresses `web` of a pod can be reached. */
type Way = (node: Namespace, flavour: Flavour, web: readonly string[]) => Promise<Targets>;

/** A client, and what came of its connections. */
interface Place extends Targets {
  readonly client: Namespace;
  readonly connects: number[];
  readonly handshakes: number[];
}

/** The first packet of a connection: to the pod without any rule, by one rule, through few VIPs, through all. */
export async function firstPacket(flavour: Flavour, size: Size): Promise<Row[]> {
  const few = { ...size, services: Math.min(10, size.services) };
  const ways = [direct, byHand, through(few), through(size)];
  // A pod of as many addresses as a service has endpoints: the chain is as long as any, and all is answered.
  const webs = ways.map((_, n) =>
    Array.from({ length: size.endpoints }, (_, i) => `10.1.${n}.${21 + i}`),
  );
  const nodes = webs.map((web, n) => ({ name: `n${n}`, pods: { client: [], web } }));
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const places: Place[] = [];
  for (const [n, way] of ways.entries()) {
    const server = lab.pod("c1", `n${n}`, "web").spawn(serve("--name", "web"));
    await server.line(/serving/);
    const targets = await way(lab.node("c1", `n${n}`), flavour, webs[n] ?? []);
    const client = lab.pod("c1", `n${n}`, "client");
    places.push({ ...targets, client, connects: [], handshakes: [] });
  }
  for (let round = 0; round < ROUNDS; round++) for (const place of places) await measure(place);
  return [
    ...rowsOf(few, places[2], places),
    ...(size.services > few.services ? rowsOf(size, places[3], places) : []),
  ];
}

const direct: Way = async (_node, _flavour, web) => ({ port: 8080, addresses: web });

const byHand: Way = async (node, flavour, web) => {
  const rule = `-d ${BY_HAND} -p tcp --dport 80 -j DNAT --to-destination ${web[0]}:8080`;
  await node.exec([`iptables-${flavour}`, "-t", "nat", "-A", "PREROUTING", ...rule.split(" ")]);
  return { port: 80, addresses: [BY_HAND] };
};

/** Through our rules for so many services, of which a few, evenly spread, have their endpoints on the server. */
function through(size: Size): Way {
  const step = Math.max(1, Math.floor(size.services / PROBES));
  return async (node, flavour, web) => {
    const probes: Service[] = [];
    const others: Service[] = [];
    for (let i = 0; i < size.services; i++) {
      if (i % step === 0) probes.push(service(i + 1, size, web));
      else others.push(service(i + 1, size));
    }
    const pipeline = new Pipeline(flavour, node);
    pipeline.list([...probes, ...others]);
    await pipeline.pass();
    await pipeline.close();
    return { port: 80, addresses: probes.map(({ vip }) => vip) };
  };
}

async function measure({ client, port, addresses, connects, handshakes }: Place): Promise<void> {
  const program = `${import.meta.dirname}/connects.ts`;
  const argv = [process.execPath, program, String(CONNECTIONS), String(port), ...addresses];
  const measured: Connects = JSON.parse(await client.exec(argv));
  connects.push(...measured.connects);
  handshakes.push(...measured.handshakes);
}

function rowsOf({ services }: Size, place: Place | undefined, [bare, hand]: Place[]): Row[] {
  const row = (what: string, of: (place: Place) => number[]): Row => {
    const [ours, none, one] = [place, bare, hand].map((p) => figuresOf(p ? of(p) : []));
    if (!ours || !none || !one) throw new Error("nothing was measured");
    return {
      what: `${what}, ${count(services)} VIPs: p50 / p99`,
      ours: time(ours.p50, ours.p99),
      beside: `${time(none.p50)} direct, ${time(one.p50)} one DNAT rule`,
      ...atMostTimes(1.3, ours.p50 / none.p50),
    };
  };
  return [
    row("SYN to SYN-ACK", ({ handshakes }) => handshakes),
    row("connect() in Node", ({ connects }) => connects),
  ];
}
