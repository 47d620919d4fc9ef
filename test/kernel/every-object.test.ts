import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FLAVOURS, type Flavour, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { FAMILIES } from "../../api/address.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKENDS } from "../backends.ts";
import type { Namespace } from "../lab/namespace.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

// Every object of ours in every table, as the kernel lists them: each chain, set and map is flushed, and then deleted if the kernel allows
// that; base chains get another policy, tables become dormant, and verdicts lead elsewhere; each rule of iptables, each server of IPVS with its
// destinations, and each of its addresses is deleted.

/** Checks that take long, as on a busy machine, come a minute apart. */
const PATIENCE = 150_000 * SLOWNESS;
/** Milliseconds between two listings: most repairs take seconds, and a listing of everything is dear. */
const PAUSE = 1_000 * SLOWNESS;
/** With each backend. Their repairs are not counted. */
const SHARED = ["clusterset-connections", "clusterset-health"];
const REPAIRS = "clusterset_agent_drift_repairs_total";

/** A change of one object, as another program would make it. */
interface Change {
  readonly what: string;
  /** The same for objects that differ in numbers only. */
  readonly kind: string;
  readonly command: readonly string[];
  readonly stdin?: string;
}

/** What a node has of ours, in lines, and the changes that can be made to it. */
interface Found {
  readonly content: readonly string[];
  readonly changes: readonly Change[];
}

describe("objects that another program changes, flushes or deletes", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`${backend.title}: each kind of object of ours is repaired`, async (t) => {
      const flags = ["--health", "all", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
      await using stage = await NodeStage.create({ backend, flags: () => flags });
      await stage.start();
      await stage.rules();
      const { node, agent } = stage;
      const found = () => inBackend(node, backend);
      // Absent until there was one.
      const repairs = () => agent.metric(REPAIRS).catch(() => 0);
      await eventually(async () => {
        const { content } = await inNftables(node);
        for (const table of SHARED)
          assert.ok(
            content.some((line) => line.includes(table)),
            table,
          );
      }, PATIENCE);
      const { content: whole, changes } = await found();
      const kinds = new Map(changes.map((change) => [change.kind, change]));
      let changed = 0;
      for (const { what, command, stdin } of kinds.values()) {
        const before = await repairs();
        // What is referenced cannot be deleted.
        const isDone = await node.exec(command, stdin === undefined ? {} : { stdin }).then(
          () => true,
          () => false,
        );
        if (!isDone) continue;
        const isShared = SHARED.some((table) => what.includes(table));
        const isSame = (await found()).content.join() === whole.join();
        // There was nothing to change, or it is repaired already.
        if (isSame && (isShared || (await repairs()) === before)) continue;
        changed++;
        await eventually(async () => {
          await sleep(PAUSE);
          assert.deepEqual((await found()).content, whole, what);
          if (!isShared) assert.ok((await repairs()) > before, `${what}: not counted`);
        }, PATIENCE);
        // The virtual machine ends what says nothing for minutes.
        console.log(`${backend.title}: ${what}`);
      }
      t.diagnostic(`${changed} changes of ${kinds.size}`);
      assert.ok(changed > 10, `${changed}`);
    });
  }
});

/** What a backend has. Tables that all backends share are the same with each: nftables shows them. */
function inBackend(node: Namespace, { name, config }: TestedBackend): Promise<Found> {
  const flavour = FLAVOURS.find((one) => one === config.iptablesFlavour);
  if (name === "ipvs") return inIpvs(node);
  return flavour === undefined ? inNftables(node) : inIptables(node, flavour);
}

interface Fields {
  readonly family?: string;
  readonly table?: string;
  readonly name?: string;
  readonly hook?: string;
  readonly flags?: readonly string[] | string;
  readonly elem?: readonly unknown[];
}

/** Chains, sets and maps of our tables: without what packets change. */
async function inNftables(node: Namespace, ours = /^clusterset-/): Promise<Found> {
  const text = await node.exec(["nft", "-j", "list", "ruleset"]);
  // nft 1.0.6 ends there.
  if (text.endsWith('"flags": ')) return { content: [text], changes: [] };
  const { nftables } = JSON.parse(text) as {
    readonly nftables: readonly Readonly<Record<string, Fields>>[];
  };
  const own = nftables
    .flatMap((one) => Object.entries(one))
    .filter(([, { table, name = "" }]) => ours.test(table ?? name));
  const changes = own.flatMap(([kind, fields]) => [
    ...commandsFor(kind, fields).map(
      (what): Change => ({ what, kind: kindOf(what), command: ["nft", what] }),
    ),
    ...deletionOf(kind, fields),
  ]);
  const content = own.map(([kind, fields]) => {
    const elem = isDynamic(fields) ? undefined : fields.elem;
    // A table that was replaced has the same elements in another order.
    const elements = elem?.map((one) => JSON.stringify(one)).sort();
    return JSON.stringify({ kind, ...fields, elem: elements }, (key, value) =>
      key === "counter" || key === "handle" ? null : value,
    );
  });
  return { content: content.toSorted(), changes };
}

/** Commands of nft that change an object of this kind. */
function commandsFor(kind: string, fields: Fields): string[] {
  const { family = "", table = "", name = "", hook, elem = [] } = fields;
  if (kind === "table") return [`add table ${family} ${name} { flags dormant; }`];
  if (!["chain", "set", "map"].includes(kind) || isDynamic(fields)) return [];
  const object = [family, table, name].join(" ");
  const policy = hook === undefined ? [] : [`add chain ${object} { policy drop; }`];
  const [key, other] = elem.map(verdictOf);
  const led =
    key?.verdict === undefined || other?.verdict === undefined
      ? []
      : [
          `delete element ${object} { ${key.key} }; add element ${object} { ${key.key} : ${other.verdict} }`,
        ];
  return [`flush ${kind} ${object}`, `delete ${kind} ${object}`, ...policy, ...led];
}

/** The deletion of one element of a set or map. In JSON, because the text of a key depends on its type. */
function deletionOf(kind: string, fields: Fields): Change[] {
  const { family = "", table = "", name = "", elem: [element] = [] } = fields;
  if (!["set", "map"].includes(kind) || isDynamic(fields) || element === undefined) return [];
  const what = `delete element of ${family} ${table} ${name}`;
  const target = { family, table, name, elem: [keyOf(element)] };
  const command = JSON.stringify({ nftables: [{ delete: { element: target } }] });
  return [{ what, kind: what, command: ["nft", "-j", command] }];
}

/** The key of an element as nft lists it: that of a map has a value, and one with a comment is in a field. */
function keyOf(element: unknown): unknown {
  const key = Array.isArray(element) ? (element as readonly unknown[])[0] : element;
  return fieldAt(key, "elem", "val") ?? key;
}

/** An element of a map of verdicts. */
function verdictOf(element: unknown) {
  const [key, value] = Array.isArray(element) ? (element as readonly unknown[]) : [];
  const [, chain] = /^\{"goto":\{"target":"(\S+)"\}\}$/.exec(JSON.stringify(value) ?? "") ?? [];
  return { key: String(key), verdict: chain === undefined ? undefined : `goto ${chain}` };
}

function isDynamic({ flags = [] }: Fields): boolean {
  return flags.includes("dynamic") || flags.includes("timeout");
}

const DEVICE = "csp-ipvs0";

/** Servers with their destinations, addresses of the device, and the tables of the guard. */
async function inIpvs(node: Namespace): Promise<Found> {
  const { content, changes } = await inNftables(node, /^csp-ipvs$/);
  const servers = (await node.exec(["ipvsadm", "-Sn"])).split("\n").filter(Boolean);
  const deleted = servers.flatMap((line) => {
    const [, server] = /^-A (\S+ \S+)/.exec(line) ?? [];
    const [, destination] = /^-a (\S+ \S+ -r \S+)/.exec(line) ?? [];
    if (server !== undefined) return [`ipvsadm -D ${server}`];
    return destination === undefined ? [] : [`ipvsadm -d ${destination}`];
  });
  // None if the device is gone.
  const show = ["ip", "-o", "address", "show", "dev", DEVICE, "scope", "global"];
  const { stdout } = await node.run(show);
  const addresses = [...stdout.matchAll(/ inet6? (\S+) /g)].map(([, address = ""]) => address);
  const lines = [
    ...deleted,
    ...addresses.map((address) => `ip address delete ${address} dev ${DEVICE}`),
    `ip link delete ${DEVICE}`,
  ];
  const more = lines.map(
    (what): Change => ({ what, kind: kindOf(what), command: what.split(" ") }),
  );
  return {
    content: [...content, ...servers, ...addresses].sort(),
    changes: [...changes, ...more],
  };
}

/** Chains and rules of ours, and jumps to them, in both families. */
async function inIptables(node: Namespace, flavour: Flavour): Promise<Found> {
  const [content, changes]: [string[], Change[]] = [[], []];
  for (const family of FAMILIES) {
    const { save, restore } = toolsOf(flavour, family);
    let table = "";
    const change = (verb: string): void => {
      const what = `${family} ${table} ${verb}`;
      const stdin = `*${table}\n${verb}\nCOMMIT\n`;
      changes.push({ what, kind: kindOf(what), command: [...restore, "--noflush"], stdin });
    };
    for (const line of (await node.exec(save)).split("\n")) {
      if (line.startsWith("*")) table = line.slice(1);
      const [, chain] = /^:(CSP-\S+)/.exec(line) ?? [];
      if (chain !== undefined) {
        content.push(`${family} ${table} ${chain}`);
        change(`-F ${chain}`);
        change(`-F ${chain}\n-X ${chain}`);
      } else if (/^-A .*\bCSP-/.test(line)) {
        content.push(`${family} ${table} ${line}`);
        change(line.replace("-A", "-D"));
      }
    }
  }
  // Jumps may come back in another order.
  return { content: content.toSorted(), changes };
}

/** Numbers, and hashes in the names of chains, make no kind. */
function kindOf(what: string): string {
  return what.replaceAll(/CSP-(SVC|SEP)-\S+/g, "CSP-$1").replaceAll(/\d+/g, "");
}
