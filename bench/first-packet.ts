import { Lab } from "../test/lab/lab.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import { serve } from "../test/lab/programs.ts";
import type { MeasuredBackend } from "./backends.ts";
import { bareRun } from "./bare.ts";
import type { Connects } from "./connects.ts";
import { count, figuresOf, time } from "./figures.ts";
import { ENDPOINTS, type Options } from "./options.ts";
import { type Size, vipOf } from "./services.ts";
import { atMostTimes, type Row } from "./table.ts";

/** In turns, so that what else the machine does slows all of them down alike. */
const ROUNDS = 8;
const CONNECTIONS = 150;
/** VIPs that are connected to; the rest are only there. */
const PROBES = ["first", "middle", "last"] as const;
const BY_HAND = "241.0.1.7";

/** What a client is to connect to. */
interface Targets {
  readonly port: number;
  readonly addresses: readonly string[];
}

/** Prepares a node so that the server on the addresses `web` of a pod can be reached. */
type Way = (node: Namespace, backend: MeasuredBackend, web: readonly string[]) => Promise<Targets>;

/** A client, and what came of its connections. */
interface Place extends Targets {
  readonly client: Namespace;
  readonly connects: number[];
  /** By address, in the order of `addresses`. */
  readonly handshakes: readonly number[][];
}

/** The first packet of a connection: to the pod without any rule, by one rule, through few VIPs, through many. */
export async function firstPacket(
  backend: MeasuredBackend,
  { sizes, quick }: Options,
): Promise<Row[]> {
  const counts = [...new Set([10, ...sizes.filter((size) => size > 10)])];
  const ladder = counts.map((services): Size => ({ services, endpoints: ENDPOINTS }));
  const ways = [direct, byHand, ...ladder.flatMap((size) => [through(size), flat(size.services)])];
  // A pod of as many addresses as a service has endpoints: the chain is as long as any, and all is answered.
  const webs = ways.map((_, n) =>
    Array.from({ length: ENDPOINTS }, (_, i) => `10.1.${n}.${21 + i}`),
  );
  const nodes = webs.map((web, n) => ({ name: `n${n}`, pods: { client: [], web } }));
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const places: Place[] = [];
  for (const [n, way] of ways.entries()) {
    const server = lab.pod("c1", `n${n}`, "web").spawn(serve("--name", "web"));
    await server.line(/serving/);
    const targets = await way(lab.node("c1", `n${n}`), backend, webs[n] ?? []);
    const client = lab.pod("c1", `n${n}`, "client");
    places.push({ ...targets, client, connects: [], handshakes: targets.addresses.map(() => []) });
  }
  const rounds = quick ? 3 : ROUNDS;
  for (let round = 0; round < rounds; round++) for (const place of places) await measure(place);
  return ladder.flatMap((size, i) => rowsOf(backend.title, size, places.slice(2 + 2 * i), places));
}

const direct: Way = async (_node, _backend, web) => ({ port: 8080, addresses: web });

const byHand: Way = async (node, { dnat, tool }, web) => {
  await bareRun(tool, dnat([BY_HAND], `${web[0]}:8080`), node.within);
  return { port: 80, addresses: [BY_HAND] };
};

/** Through our rules for so many services, of which a few have their endpoints on the server. */
function through({ services, endpoints }: Size): Way {
  return async (node, { title }, web) => {
    const probes = few(Array.from({ length: services }, (_, i) => i + 1));
    const program = `${import.meta.dirname}/program-process.ts`;
    const argv = [services, endpoints, web.join(","), probes.join(",")].map(String);
    await node.exec([process.execPath, program, title, ...argv], { timeout: 120_000 });
    return { port: 80, addresses: probes.map(vipOf) };
  };
}

/** As many DNAT rules in one chain, one after the other, of which the same few lead to the server. */
function flat(services: number): Way {
  return async (node, { dnat, tool }, web) => {
    const all = Array.from({ length: services }, (_, i) => vipOf(i + 1));
    await bareRun(tool, dnat(all, `${web[0]}:8080`), node.within);
    return { port: 80, addresses: few(all) };
  };
}

/** The first, the middle and the last of them. */
function few<T>(all: readonly T[]): T[] {
  return [0, Math.floor(all.length / 2), all.length - 1].flatMap((i) => all.slice(i, i + 1));
}

async function measure({ client, port, addresses, connects, handshakes }: Place): Promise<void> {
  const program = `${import.meta.dirname}/connects.ts`;
  const argv = [process.execPath, program, String(CONNECTIONS), String(port), ...addresses];
  const measured: Connects = JSON.parse(await client.exec(argv));
  connects.push(...measured.connects);
  for (const [i, address] of addresses.entries())
    handshakes[i]?.push(...(measured.handshakes[address] ?? []));
}

function rowsOf(
  title: string,
  { services }: Size,
  [own, line]: Place[],
  [bare, hand]: Place[],
): Row[] {
  if (!own || !line || !bare || !hand) throw new Error("nothing was measured");
  const row = (what: string, of: (place: Place) => readonly number[]): Row[] => {
    const [ours, chain, none] = [figuresOf(of(own)), figuresOf(of(line)), figuresOf(of(bare))];
    const one = figuresOf(of(hand));
    return [
      {
        what: `${what}, ${count(services)} VIPs: p50 / p99`,
        ours: time(ours.p50, ours.p99),
        beside: `${time(none.p50)} no rules, ${time(one.p50)} one DNAT rule`,
        ...(title === "nftables"
          ? { ratio: ours.p50 / none.p50 }
          : atMostTimes(1.3, ours.p50 / none.p50)),
      },
      {
        what: "  against a flat chain of as many rules",
        ours: time(ours.p50, ours.p99),
        beside: `${time(chain.p50, chain.p99)} flat chain`,
        ratio: ours.p50 / chain.p50,
      },
    ];
  };
  const one = figuresOf(hand.handshakes.flat()).p50;
  const each = own.handshakes.map((all) => figuresOf(all).p50);
  const worst = Math.max(...each) / one;
  return [
    ...row("SYN to SYN-ACK", ({ handshakes }) => handshakes.flat()),
    {
      what: `  at the ${PROBES.join(" / ")} service: p50`,
      ours: time(...each),
      beside: `${time(one)} one DNAT rule`,
      ...(title === "nftables" ? atMostTimes(1.1, worst) : { ratio: worst }),
    },
    ...row("connect() in Node", ({ connects }) => connects),
  ];
}
