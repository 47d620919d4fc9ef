import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { request, serve } from "../lab/programs.ts";
import { addressAt, HOME, homeFact, LAB } from "../packets/address-plan.ts";
import { PACKET_CASES } from "../packets/cases.ts";
import type { Arrival, Flow, PacketCase, Target } from "../packets/packet-case.ts";
import { modelOf, planOf, wanted } from "../packets/rendered.ts";

/** Connections for each endpoint, if there are several: then one of them is missed once in 10^9 runs. */
const SAMPLE = 20;

const REAL = PACKET_CASES.filter((one) => one.real);
const TARGETS = targetsOf(REAL);

for (const flavour of ["nft", "legacy"] as const) {
  describe(`the table of packets, with real connections, ${flavour} flavour`, () => {
    let lab: Lab;
    before(async () => {
      lab = await Lab.create(LAB);
      const servers = [...places(lab)].flatMap(([name, pod]) =>
        TARGETS.map((target) => pod.spawn(serve("--name", name, ...target))),
      );
      await Promise.all(servers.map((server) => server.line(/serving/, 20_000)));
    });
    after(() => lab.remove());

    for (const one of REAL) {
      test(one.name, async () => {
        await program(lab, one, flavour);
        for (const flow of one.flows) await assertFlow(lab, flow);
      });
    }
  });
}

/** Makes the kernel of the node hold what the case wants, as the agent would from where it was. */
async function program(lab: Lab, one: PacketCase, flavour: Flavour): Promise<void> {
  const node = one.node(homeFact());
  const services = planOf(modelOf(one.objects, node), node);
  const within = lab.node("c1", "n1").within;
  for (const clusterSetCidr of node.clusterSetCidrs) {
    const { family } = clusterSetCidr;
    const onRespawn = () => assert.fail("iptables-restore refused what was rendered");
    const masquerade = { mode: one.masquerade, podCidrs: node.podCidrs };
    const options = { family, clusterSetCidr, masquerade, flavour, within, onRespawn };
    const backend = new IptablesBackend(options);
    const believed = await backend.read();
    const tx = backend.diff(believed, wanted(services, family, node, one.masquerade));
    if (!tx.empty) await backend.apply(tx, believed);
    await backend.close();
  }
  // Datagrams of an earlier case must not lend their translation to those of this one.
  await lab.node("c1", "n1").run(["conntrack", "-F"]);
}

async function assertFlow(lab: Lab, { from, to, expect, again }: Flow): Promise<void> {
  const where = `${from} to ${to.protocol} ${to.address} ${to.port}`;
  const client = places(lab).get(from) ?? lab.node("c1", "n1");
  if (expect === "refused") {
    // Once: the kernel answers datagrams by ICMP, and limits how often.
    const { names, errors } = await connect(client, to, 1);
    assert.deepEqual([names, errors], [[], ["refused"]], where);
  } else if (expect === "untouched") {
    const { names, sources } = await connect(client, to, 3);
    assert.deepEqual([names, sources], [[podAt(lab, to)], [client.address(familyOf(to))]], where);
  } else if (again.length > 0) {
    await assertKept(client, [to, ...again], expect, where);
  } else {
    const { names, sources, errors } = await connect(client, to, sampleOf(expect));
    assert.deepEqual(names, expect.map(({ pod }) => pod).sort(), where);
    assert.deepEqual(errors, [], where);
    assertSources(client, sources, expect, familyOf(to), where);
  }
}

function sampleOf(expect: readonly Arrival[]): number {
  return expect.length === 1 ? 3 : SAMPLE * expect.length;
}

/** Every connection of a client comes to one pod, whichever it was first. */
async function assertKept(
  client: Namespace,
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
  client: Namespace,
  sources: readonly string[],
  expect: readonly Arrival[],
  family: Family,
  where: string,
): void {
  const own = client.address(family);
  if (expect.every(({ masquerade }) => !masquerade)) assert.deepEqual(sources, [own], where);
  else if (expect.every(({ masquerade }) => masquerade)) {
    // The node has a link for each pod, with an address of its own: masquerading takes the one that leads there.
    assert.ok(!sources.includes(own), `${where}: not masqueraded`);
  }
}

/** Who answered, the addresses that they saw, and what went wrong, each once and in order. */
async function connect(client: Namespace, { protocol, address, port }: Target, count: number) {
  const host = address.includes(":") ? `[${address}]` : address;
  const argv = request(
    "--count",
    String(count),
    "--timeout",
    "3000",
    `${protocol}://${host}:${port}`,
  );
  const { stdout } = await client.run(argv);
  const lines = stdout.split("\n").filter((line) => line.startsWith('{"at"'));
  const attempts = lines.map((line) => JSON.parse(line) as Partial<Record<string, string>>);
  assert.equal(attempts.length, count);
  const distinct = (key: string) =>
    [...new Set(attempts.flatMap((attempt) => attempt[key] ?? []))].sort();
  return { names: distinct("name"), sources: distinct("source"), errors: distinct("error") };
}

/** Pods by path. */
function places(lab: Lab): Map<string, Namespace> {
  return new Map(
    lab.topology.nodes.flatMap(({ cluster, name, pods }) =>
      pods.map((pod) => [`${cluster}/${name}/${pod.name}`, lab.pod(cluster, name, pod.name)]),
    ),
  );
}

function podAt(lab: Lab, { address }: Target): string | undefined {
  const paths = [...places(lab).keys(), HOME];
  return paths.find((path) => FAMILIES.some((family) => addressAt(path, family) === address));
}

function familyOf({ address }: Target): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** Flags of one server for each port that any case leads to. */
function targetsOf(cases: readonly PacketCase[]): string[][] {
  const ports = new Map<string, string[]>();
  for (const { to, expect } of cases.flatMap(({ flows }) => flows)) {
    if (typeof expect === "string") continue;
    for (const { port } of expect) {
      const flags = to.protocol === "udp" ? ["--tcp", "0", "--udp"] : ["--tcp"];
      ports.set(`${to.protocol} ${port}`, [...flags, String(port)]);
    }
  }
  return [...ports.values()];
}
