import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES, type Family } from "../../api/address.ts";
import { ofFamily } from "../../api/cidr.ts";
import type { Result } from "../../images/request/attempt.ts";
import { PACKET_BACKENDS, packetCasesOf } from "../backends.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { addressAt, HOME, homeFact, LAB } from "../packets/address-plan.ts";
import { PACKET_CASES } from "../packets/cases.ts";
import type { Arrival, Flow, PacketCase, Target } from "../packets/packet-case.ts";
import { Peer, type Port } from "../packets/peers.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { hasSctp } from "../packets/sctp.ts";
import { Programmer } from "./programmer.ts";

/** Connections for each endpoint in a round, if there are several. */
const ROUND = 5;
/** Rounds at most: of two endpoints, one is missed once in 10^12 runs. */
const ROUNDS = 4;

/** Connections that show the parts of endpoints; an emulated machine makes few in a second. */
const COUNTED = SLOWNESS > 1 ? 96 : 600;
/** Standard deviations that a count may be off: chance exceeds them once in 10^8. */
const DEVIATIONS = 6;

/** The cases that connections can show. */
const REAL_CASES: readonly PacketCase[] = PACKET_CASES.filter((one) => one.real);

/** The lab of the packet table with real connections: a test programs its node, and then checks the flows. */
class RealPackets {
  readonly lab: Lab;
  readonly #peers: ReadonlyMap<string, Peer>;

  private constructor(lab: Lab, peers: readonly Peer[]) {
    this.lab = lab;
    this.#peers = new Map(peers.map((peer) => [peer.place.path, peer]));
  }

  /** Starts the lab, with a server in every pod. */
  static async start(): Promise<RealPackets> {
    const lab = await Lab.create(LAB);
    try {
      const peers = placesOf(lab).map(({ place, serves }) =>
        Peer.start(lab, place, serves ? servedPorts() : []),
      );
      return new RealPackets(lab, await Promise.all(peers));
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  /** The node that is programmed, and whose pods connect. */
  get home(): Namespace {
    return this.#peer(HOME).place;
  }

  /** Compares the result of each flow of the case with its expectation. */
  async assertFlows(one: PacketCase): Promise<void> {
    // Datagrams of this case must not use the conntrack entries of an earlier one.
    if (one.flows.some(({ to }) => to.protocol === "udp")) await this.home.run(["conntrack", "-F"]);
    for (const flow of one.flows) await this.#assertFlow(flow);
  }

  async remove(): Promise<void> {
    await this.lab.remove();
  }

  #peer(path: string): Peer {
    const peer = this.#peers.get(path);
    if (peer === undefined) throw new Error(`no process listens at ${path}`);
    return peer;
  }

  async #assertFlow({ from, to, expect, again }: Flow): Promise<void> {
    const where = `${from} to ${to.protocol} ${to.address} ${to.port}`;
    const client = this.#peer(from);
    if (expect === "refused") {
      // Once: the kernel answers datagrams by ICMP, and limits how often.
      const { names, errors } = await connect(client, to, 1);
      assert.deepEqual([names, errors], [[], ["refused"]], where);
    } else if (expect === "untouched" || expect === "unserved") {
      const { names, sources } = await connect(client, to, 3);
      const own = client.place.address(familyOf(to));
      assert.deepEqual([names, sources], [[this.#podAt(to)], [own]], where);
    } else if (again.length > 0) {
      await assertKept(client, [to, ...again], expect, where);
    } else {
      const { names, sources, errors } = await sample(client, to, expect);
      assert.deepEqual(names, expect.map(({ pod }) => pod).sort(), where);
      assert.deepEqual(errors, [], where);
      // A pod of another node sees the node's first address, masqueraded or not.
      const isHere = ({ pod }: Arrival) => pod.startsWith(`${HOME}/`);
      const shown = expect.map((one) =>
        from === HOME && !isHere(one) ? { ...one, masquerade: false } : one,
      );
      assertSources(client, sources, shown, familyOf(to), where);
    }
  }

  #podAt({ address }: Target): string | undefined {
    const isThere = (path: string) =>
      FAMILIES.some((family) => addressAt(path, family) === address);
    return [...this.#peers.keys()].find(isThere);
  }
}

/** Why a case is not run on this kernel; false if it is. */
function skipReason({ flows }: PacketCase): string | false {
  const isSctp = flows.some(({ to }) => to.protocol === "sctp");
  return isSctp && !hasSctp() ? "this kernel has no SCTP" : false;
}

/** The results of so many connections that each of these endpoints has been seen, or does not respond. */
async function sample(client: Peer, target: Target, expect: readonly Arrival[]): Promise<Seen> {
  if (expect.some(({ part }) => part !== undefined)) return countParts(client, target, expect);
  if (expect.length === 1) return connect(client, target, 3);
  const results: Result[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    results.push(...(await client.connect(target, ROUND * expect.length)));
    if (seenOf(results).names.length >= expect.length) break;
  }
  return seenOf(results);
}

/** Compares the number of connections of each endpoint with its part. */
async function countParts(client: Peer, target: Target, expect: readonly Arrival[]): Promise<Seen> {
  const results = await client.connect(target, COUNTED);
  const counts = Map.groupBy(results, (result) => ("name" in result ? result.name : undefined));
  const whole = expect.reduce((sum, { part = 1 }) => sum + part, 0);
  for (const { pod, part = 1 } of expect) {
    const share = part / whole;
    const count = counts.get(pod)?.length ?? 0;
    const most = DEVIATIONS * Math.sqrt(COUNTED * share * (1 - share));
    assert.ok(Math.abs(count - COUNTED * share) <= most, `${pod}: ${count} of ${COUNTED}`);
  }
  return seenOf(results);
}

/** Every connection of a client reaches the pod of its first one. */
async function assertKept(
  client: Peer,
  targets: readonly Target[],
  expect: readonly Arrival[],
  where: string,
): Promise<void> {
  const pods = new Set<string>();
  for (const target of targets) {
    const { names, errors } = await connect(client, target, 5);
    assert.deepEqual(errors, [], where);
    for (const name of names) pods.add(name);
  }
  assert.equal(pods.size, 1, `${where}: came to ${[...pods].join(", ")}`);
  assert.ok(
    expect.some(({ pod }) => pods.has(pod)),
    where,
  );
}

function assertSources(
  client: Peer,
  sources: readonly string[],
  expect: readonly Arrival[],
  family: Family,
  where: string,
): void {
  const own = client.place.address(family);
  if (expect.every(({ masquerade }) => !masquerade)) assert.deepEqual(sources, [own], where);
  else if (expect.every(({ masquerade }) => masquerade)) {
    // The node has a link for each pod, with an address of its own: masquerading takes the one that leads there.
    assert.ok(!sources.includes(own), `${where}: not masqueraded`);
  }
}

/** Pods that responded, client addresses that they saw, and errors, each once and in order. */
interface Seen {
  readonly names: readonly string[];
  readonly sources: readonly string[];
  readonly errors: readonly string[];
}

async function connect(client: Peer, target: Target, count: number): Promise<Seen> {
  const results = await client.connect(target, count);
  assert.equal(results.length, count);
  return seenOf(results);
}

function seenOf(results: readonly Result[]): Seen {
  const distinct = (key: "name" | "source" | "error") => {
    const values = results.map((result) => new Map(Object.entries(result)).get(key));
    const known = new Set(values.filter((value) => value !== undefined).map(String));
    return [...known].toSorted((a, b) => a.localeCompare(b));
  };
  return { names: distinct("name"), sources: distinct("source"), errors: distinct("error") };
}

/** All pods, which serve, and the node that clients may be on, which does not. */
function placesOf(lab: Lab): { readonly place: Namespace; readonly serves: boolean }[] {
  const pods = lab.topology.nodes.flatMap(({ cluster, name, pods }) =>
    pods.map((pod) => ({ place: lab.pod(cluster, name, pod.name), serves: true })),
  );
  return [...pods, { place: lab.node("c1", "n1"), serves: false }];
}

function familyOf({ address }: Target): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** Each port of an endpoint in any case. */
function servedPorts(): Port[] {
  const ports = new Map<string, Port>();
  for (const one of REAL_CASES.filter((each) => skipReason(each) === false)) {
    for (const { to, expect } of one.flows) {
      if (typeof expect === "string") continue;
      const { protocol } = to;
      for (const { port } of expect) ports.set(`${protocol} ${port}`, { protocol, port });
    }
  }
  return [...ports.values()];
}

describe("the packet table, with real connections", () => {
  let world: RealPackets;
  before(async () => {
    world = await RealPackets.start();
  });
  after(() => world.remove());

  for (const backend of PACKET_BACKENDS) {
    describe(backend.title, () => {
      let programmer: Programmer;
      before(async () => {
        programmer = await Programmer.start(world.lab, world.home, backend);
      });

      for (const one of packetCasesOf(backend).filter(({ real }) => real)) {
        test(one.name, { skip: skipReason(one) }, async () => {
          await program(one, programmer);
          await world.assertFlows({ ...one, flows: one.flows.map(backend.flow) });
        });
      }

      test("removal deletes all objects of ours, and can be repeated", async () => {
        const [removed, again] = await programmer.remove();
        assert.ok(removed > 0);
        assert.equal(again, 0);
        assert.deepEqual(await backend.own(world.home), []);
      });
    });
  }
});

/** Programs the node for a case, from its state after the previous case. */
async function program(one: PacketCase, programmer: Programmer): Promise<void> {
  const node = one.node(homeFact());
  const plan = planOf(modelOf(one.objects, node), node);
  const { explicitVipCidrs, podCidrs } = node;
  const config = { masquerade: one.masquerade, podCidrs, explicitVipCidrs };
  for (const family of FAMILIES) {
    const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
    const services = [...plan].map(
      ([key, all]) => [key, all.filter((service) => service.family === family)] as const,
    );
    const { left, writesLeft } = await programmer.hold({
      family,
      clusterSetCidrs,
      config,
      services,
    });
    // Draining objects may be deleted at any time, when their last connection ends.
    assert.equal(writesLeft, 0, left);
  }
}
