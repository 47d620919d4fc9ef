import assert from "node:assert/strict";
import type { TcpEndpoint } from "../../agent/health/evidence.ts";
import { endpointName } from "../../agent/health/verdict.ts";
import type { ImportFact, NodeFact } from "../../agent/model/facts.ts";
import type { Family } from "../../api/address.ts";
import { Chance } from "../generators/chance.ts";
import { cidr } from "../generators/facts.ts";
import {
  addressOf,
  type Connection,
  HealthWorld,
  rangeOf,
  type ServedPort,
} from "../stages/health-world.ts";

/**
 * One history: what is served, which clients call, what the network drops, and what follows. Times are seconds since the start. An import `web` is
 * `demo/web`; `shop/web` is in namespace shop.
 */
export interface History {
  readonly name: string;
  /** Endpoints by import and place: `c2`, or `c1/n2` for a node of c1. This node is n1 of c1; c1 and c2 are in its region. */
  readonly serves: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** `IMPORT CLUSTER PLACE…`: a slice of an import names a cluster, and lists endpoints of others: `mallory/trap c7 web@c2`; `new`: an address of its own. */
  readonly lists?: readonly string[];
  /** Changes of all imports. */
  readonly fact?: Partial<Omit<ImportFact, "vips">>;
  readonly node?: Partial<NodeFact>;
  /** Clusters that have declared their ranges; all that serve if absent. */
  readonly declares?: readonly string[];
  /** `CLIENT IMPORT EVERY [FROM-[UNTIL]]`: a call every so many seconds. `OFTEN` if absent. Clients are `a` to `d`; `a*`: a new one calls each time. */
  readonly calls?: readonly string[];
  /**
   * `FROM-[UNTIL] WHO>WHERE [LOSS]`: who is `*`, `node`, `clients` or a client; where is `*`, a cluster, an import in a cluster (`web@c2`) or its
   * first, second, … endpoint (`web@c2/1`). LOSS is the part of round trips that is lost, all if absent.
   */
  readonly drops?: readonly string[];
  /** Clusters whose answers arrive by another link than the route to them. */
  readonly unseen?: readonly string[];
  /**
   * Events: `TIME restart`, `TIME flush`; `TIME break-probes`: from then on, probes fail on this node; `TIME roll web@c2 COUNT`: other endpoints replace those of an
   * import in a cluster, and the same drops concern them; `TIME refuse c2`: from then on, the cluster refuses the node's connections; `TIME lose-evidence`,
   * `TIME return-evidence`: the kernel's rules cannot be read; `TIME health off`: `--health` of this node.
   */
  readonly events?: readonly string[];
  /** Milliseconds until an answer arrives; 0 if absent. */
  readonly roundTrip?: number;
  /** Milliseconds after which clients send their SYNs; those of Linux before 6.5 if absent. */
  readonly syns?: readonly number[];
  /** Milliseconds by which each timer of the agent is late, at most. */
  readonly load?: number;
  /** `TIME IMPORT PLACES`: where new connections go. A place is a cluster, with the number of its endpoints after a colon, if that matters. */
  readonly expect?: readonly string[];
  /** Verdicts that begin, in order: `cluster c2`, `endpoint web@c2/1`. Absent: not checked. */
  readonly verdicts?: readonly string[];
  /**
   * What else is reported of these kinds, in order and without repeats: `ended cluster c2 answered`, `uplink silent`. None: nothing is. Absent: not
   * checked.
   */
  readonly says?: readonly string[];
  /** `FROM-UNTIL LEAST MOST`: how many probes there are in this time. */
  readonly probes?: readonly string[];
  /** Milliseconds in which each connection is established; eight seconds if absent. */
  readonly patience?: number;
  /** Clients whose connections may be lost after that. No other may. */
  readonly mayLose?: readonly string[];
  /** How many they lose at most; any number if absent. */
  readonly loses?: number;
  /** Clients that never wait a second. */
  readonly neverWait?: readonly string[];
  /** Clusters that are reported as blind at the end. */
  readonly blind?: readonly string[];
  /** Clusters in which something refuses the node's connections in the name of every endpoint. */
  readonly refuses?: readonly string[];
  /** Ports of imports, by name; 8080 if absent. `web#1` is the second port of web, `web@c2:8080` a port of its endpoints. Nobody calls UDP ports, `53/UDP`. */
  readonly ports?: Readonly<Record<string, readonly ServedPort[]>>;
  /** Seeds; one if absent. */
  readonly seeds?: readonly number[];
}

/** Often enough that a calibration comes before a failure. */
export const OFTEN = "a web 0.05";
/** The patience of clients. */
const PATIENCE_MS = 8_000;
const CLIENTS = "abcd";

interface Drop extends Place {
  readonly from: number;
  readonly until: number;
  readonly who: string;
  readonly loss: number;
}

/** Endpoints of an import in a cluster, or without a name, of a cluster or of all. */
interface Place {
  readonly where: string;
  readonly port: number | undefined;
  readonly name: string | undefined;
  /** Which one, from 1; 0: all. */
  readonly index: number;
}

/** Plays a history, and compares what happens with what is expected. Resolves with the clients' connections. */
export async function play(
  history: History,
  seed: number,
  family: Family,
): Promise<readonly Connection[]> {
  const chance = new Chance(seed);
  const world = new HealthWorld(() => chance.next(), {
    endpointRanges: declaredOf(history, family),
    ...history.node,
  });
  world.family = family;
  world.refusing = new Set(history.refuses);
  world.ports = history.ports ?? {};
  world.roundTrip = history.roundTrip ?? 0;
  world.syns = history.syns ?? world.syns;
  for (const [name, endpoints] of Object.entries(history.serves)) {
    const [namespace, own = ""] = name.includes("/") ? name.split("/") : ["demo", name];
    world.serve(own, endpoints, history.fact, namespace);
  }
  for (const one of history.lists ?? []) {
    const [name = "", cluster = "", ...places] = one.split(" ");
    const [namespace = "", own = ""] = keyOf(name).split("/");
    const all = addressesOf(world);
    const listed = places.flatMap((place) =>
      place === "new" ? addressOf(family, cluster, 99, 0) : (all.get(placeOf(place).name) ?? []),
    );
    world.list(own, cluster, listed, namespace);
  }
  const drops = (history.drops ?? []).map(dropOf);
  const addresses = addressesOf(world);
  const lossOf = (endpoint: TcpEndpoint, cluster: string, client: string | undefined) =>
    drops
      .filter((one) => isIn(one, world.clock.now()) && concerns(one, client))
      .filter((one) => isPlace(one, endpoint, cluster, addresses))
      .reduce((rest, { loss }) => rest * (1 - loss), 1);
  world.network = lossOf;
  world.unseen = new Set(history.unseen);
  world.ownNetwork = (endpoint, cluster) => lossOf(endpoint, cluster, undefined);
  if (history.load !== undefined) {
    const most = history.load;
    world.delay = () => Math.round(chance.next() * most);
  }
  const calls = (history.calls ?? [OFTEN]).map(callOf);
  let called = 0;
  world.onStep = () => {
    for (const call of calls) {
      if (!isIn(call, world.clock.now()) || world.clock.now() < call.next) continue;
      call.next += call.every;
      const [name = "", port = "0"] = call.name.split("#");
      world.call(keyOf(name), clientOf(call.client, ++called), Number(port));
    }
  };
  const actions = [
    ...(history.events ?? []).map((text) => actionOf(text, world, addresses)),
    ...(history.expect ?? []).map((text) => expectationOf(text, world)),
    ...(history.probes ?? []).flatMap((text) => countOf(text, world)),
  ].toSorted((one, other) => one.at - other.at);
  for (const { at, run } of actions) {
    await world.pass(at - world.clock.now());
    await run();
  }
  const end = world.clock.now();
  world.onStep = () => undefined;
  await world.pass(PATIENCE_MS);
  checkConnections(history, world, end);
  const named = (text: string) =>
    text.replace(/\w+ \S+@\S+/, (it) => namedOf(it, addresses, family));
  const isBegin = (word: string) => word.startsWith("silent ");
  if (history.verdicts !== undefined) {
    const begun = history.verdicts.map((one) => `silent ${named(one)}`);
    assert.deepEqual(world.words.filter(isBegin), begun);
  }
  if (history.says !== undefined) {
    const says = history.says.map(named);
    const kinds = new Set(says.map(kindOf));
    const others = world.words
      .filter((word) => !isBegin(word) && (kinds.size === 0 || kinds.has(kindOf(word))))
      .filter((word, i, all) => word !== all[i - 1]);
    assert.deepEqual(others, says);
  }
  if (history.blind !== undefined) assert.deepEqual([...world.blind].sort(), history.blind);
  await world.stop();
  return world.connections;
}

function checkConnections(history: History, world: HealthWorld, end: number): void {
  const mayLose = new Set(history.mayLose);
  const neverWait = new Set(history.neverWait);
  const patience = history.patience ?? PATIENCE_MS;
  let lost = 0;
  for (const { begun, established = Number.POSITIVE_INFINITY, ...one } of world.connections) {
    const client = nameOf(one.client);
    const waited = established - begun;
    const what = `${client} waited ${waited} ms from ${begun}: ${world.words.join(", ")}`;
    if (begun <= end && !mayLose.has(client)) assert.ok(waited <= patience, what);
    if (begun <= end && waited > patience) lost++;
    if (neverWait.has(client)) assert.ok(waited < 1_000, what);
  }
  assert.ok(lost <= (history.loses ?? lost), `${lost} connections are lost`);
}

function declaredOf({ serves, declares }: History, family: Family): NodeFact["endpointRanges"] {
  const places = Object.values(serves).flatMap((one) => Object.keys(one));
  const ids = declares ?? places.map((place) => place.split("/")[0] ?? "");
  return new Map(ids.map((id) => [id, [cidr(rangeOf(family, id))]]));
}

/** The address of a client. `count`: how many have called. */
function clientOf(name: string, count: number): string {
  const i = CLIENTS.indexOf(name.charAt(0)) + 1;
  return name.endsWith("*") ? `10.1.${i}.${count}` : `10.1.0.${i}`;
}

function nameOf(client: string): string {
  const [i = 0, count = 0] = client.split(".").slice(2).map(Number);
  return i === 0 ? CLIENTS.charAt(count - 1) : `${CLIENTS.charAt(i - 1)}*`;
}

function keyOf(name: string): ImportFact["key"] {
  const [namespace, own] = name.includes("/") ? name.split("/") : ["demo", name];
  return `${namespace}/${own}`;
}

/** The endpoints of each import in each cluster: `demo/web@c2`. */
function addressesOf({ model }: HealthWorld): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { importKey, cluster, endpoints } of model.slices.values())
    found.set(
      `${importKey}@${cluster}`,
      [...endpoints].map(({ address }) => address),
    );
  return found;
}

function placeOf(place: string): { readonly name: string; readonly index: number } {
  const [, name = "", cluster = "", index = "0"] = /^(.+)@(\w+)(?:\/(\d+))?$/.exec(place) ?? [];
  return { name: `${keyOf(name)}@${cluster}`, index: Number(index) };
}

function isPlace(
  { where, port: only, name, index }: Place,
  { address, port }: TcpEndpoint,
  cluster: string,
  addresses: ReadonlyMap<string, readonly string[]>,
): boolean {
  if (only !== undefined && only !== port) return false;
  if (name === undefined) return where === "*" || where === cluster;
  const all = addresses.get(name) ?? [];
  return index === 0 ? all.includes(address) : all[index - 1] === address;
}

/** `endpoint web@c2/1` as the source names it. */
function namedOf(
  verdict: string,
  addresses: ReadonlyMap<string, readonly string[]>,
  family: Family,
): string {
  const [scope, place = ""] = verdict.split(" ");
  const { name, index } = placeOf(place);
  if (scope === "group") return `group ${name.replace("@", " ")} ${family} 8080`;
  const address = addresses.get(name)?.[index - 1] ?? "";
  return `endpoint ${endpointName({ address, port: 8080 })}`;
}

function kindOf(report: string): string {
  return report.split(" ")[0] ?? "";
}

function concerns({ who }: Drop, client: string | undefined): boolean {
  if (who === "*") return true;
  if (client === undefined) return who === "node";
  return who === "clients" || nameOf(client) === who;
}

function isIn({ from, until }: { from: number; until: number }, now: number): boolean {
  return now >= from && now < until;
}

function spanOf(text = "0-"): { readonly from: number; readonly until: number } {
  const [from = "0", until = ""] = text.split("-");
  return {
    from: Number(from) * 1_000,
    until: until === "" ? Number.POSITIVE_INFINITY : Number(until) * 1_000,
  };
}

function dropOf(text: string): Drop {
  const [span, path = "", loss = "1"] = text.split(" ");
  const [who = "", to = ""] = path.split(">");
  const [where = "", only] = to.split(":");
  const { name, index } = where.includes("@") ? placeOf(where) : { name: undefined, index: 0 };
  const port = only === undefined ? undefined : Number(only);
  return { ...spanOf(span), who, where, port, name, index, loss: Number(loss) };
}

function callOf(text: string) {
  const [client = "", name = "", every = "", span] = text.split(" ");
  const { from, until } = spanOf(span);
  return { client, name, every: Number(every) * 1_000, from, until, next: from };
}

interface Action {
  /** Milliseconds. */
  readonly at: number;
  readonly run: () => void | Promise<void>;
}

function actionOf(text: string, world: HealthWorld, addresses: Map<string, string[]>): Action {
  const [at, what, place = "", count] = text.split(" ");
  const run = async () => {
    if (what === "restart") await world.restart();
    else if (what === "roll") roll(world, addresses, placeOf(place).name, Number(count));
    else if (what === "break-probes") world.isProbeBroken = true;
    else if (what === "refuse") world.refusing = new Set([place]);
    else if (what === "lose-evidence") world.evidence.fault = new Error("no netlink");
    else if (what === "return-evidence") world.evidence.fault = undefined;
    else if (what === "health") world.node = { ...world.node, health: "off" };
    else world.evidence.flush();
  };
  return { at: Number(at) * 1_000, run };
}

function roll(
  world: HealthWorld,
  addresses: Map<string, string[]>,
  name: string,
  count: number,
): void {
  const [key = "", cluster = ""] = name.split("@");
  const [namespace = "", own = ""] = key.split("/");
  const fresh = Array.from({ length: count }, (_, i) => addressOf(world.family, cluster, 99, i));
  addresses.set(name, fresh);
  world.list(own, cluster, fresh, namespace);
}

/** Counts the probes from one moment to another. */
function countOf(text: string, world: HealthWorld): Action[] {
  const [span, least, most] = text.split(" ");
  const { from, until } = spanOf(span);
  let before = 0;
  const begin = () => {
    before = world.probes;
  };
  const end = () => {
    const count = world.probes - before;
    assert.ok(count >= Number(least) && count <= Number(most), `${text}: ${count} probes`);
  };
  return [
    { at: from, run: begin },
    { at: until, run: end },
  ];
}

function expectationOf(text: string, world: HealthWorld): Action {
  const [at, name = "", ...places] = text.split(" ");
  const run = () => {
    const [own = "", port = "0"] = name.split("#");
    const counts = new Map<string, number>();
    for (const cluster of world.placesOf(keyOf(own), Number(port)))
      counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
    const hasCount = places.some((place) => place.includes(":"));
    const found = [...counts].map(([id, count]) => (hasCount ? `${id}:${count}` : id));
    assert.deepEqual(found.sort(), places.sort(), `at ${at} s: ${world.words.join(", ")}`);
  };
  return { at: Number(at) * 1_000, run };
}
