import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FLAVOURS, type Flavour, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { FAMILIES } from "../../api/address.ts";
import { BACKENDS } from "../backends.ts";
import type { Namespace } from "../lab/namespace.ts";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

// Every object of ours in every table, as the kernel lists them: each chain, set and map is flushed, and then deleted if the kernel allows
// that; each rule of iptables is deleted.

const PATIENCE = 45_000;
/** Milliseconds between two listings: most repairs take seconds, and a listing of everything is dear. */
const PAUSE = 1_000;
const TABLES = ["clusterset-connections", "clusterset-health"];

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

describe("objects that another program flushes or deletes", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`${backend.title}: each kind of object of ours is repaired`, async (t) => {
      const flags = ["--health", "all", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
      await using stage = await NodeStage.create({ backend, flags: () => flags });
      await stage.start();
      await stage.rules();
      const { node } = stage;
      const flavour = FLAVOURS.find((one) => one === backend.config.iptablesFlavour);
      // Tables of health and connections are the same with each backend.
      const found = (): Promise<Found> =>
        flavour === undefined ? inNftables(node) : inIptables(node, flavour);
      await eventually(async () => {
        const { content } = await inNftables(node);
        for (const table of TABLES)
          assert.ok(
            content.some((line) => line.includes(table)),
            table,
          );
      }, PATIENCE);
      const { content: whole, changes } = await found();
      const kinds = new Map(changes.map((change) => [change.kind, change]));
      let changed = 0;
      for (const { what, command, stdin } of kinds.values()) {
        // What is referenced cannot be deleted.
        const isDone = await node.exec(command, stdin === undefined ? {} : { stdin }).then(
          () => true,
          () => false,
        );
        if (!isDone || (await found()).content.join() === whole.join()) continue;
        changed++;
        await eventually(async () => {
          await sleep(PAUSE);
          assert.deepEqual((await found()).content, whole, what);
        }, PATIENCE);
      }
      t.diagnostic(`${changed} changes of ${kinds.size}`);
      assert.ok(changed > 10, `${changed}`);
      const repairs = await stage.agent.metric("clusterset_agent_drift_repairs_total");
      assert.ok(repairs > 5, `${repairs} were counted`);
    });
  }
});

interface Fields {
  readonly family?: string;
  readonly table?: string;
  readonly name?: string;
  readonly flags?: readonly string[];
  readonly elem?: unknown;
}

/** Chains, sets and maps of our tables: without what packets change. */
async function inNftables(node: Namespace): Promise<Found> {
  const { nftables } = JSON.parse(await node.exec(["nft", "-j", "list", "ruleset"])) as {
    readonly nftables: readonly Readonly<Record<string, Fields>>[];
  };
  const own = nftables
    .flatMap((one) => Object.entries(one))
    .filter(([, { table, name = "" }]) => (table ?? name).startsWith("clusterset"));
  const changes = own
    .filter(([kind, fields]) => ["chain", "set", "map"].includes(kind) && !isDynamic(fields))
    .flatMap(([kind, { family = "", table = "", name = "" }]) =>
      ["flush", "delete"].map((verb): Change => {
        const what = [verb, kind, family, table, name].join(" ");
        return { what, kind: kindOf(what), command: ["nft", what] };
      }),
    );
  const content = own.map(([kind, fields]) => {
    const elem = isDynamic(fields) ? undefined : fields.elem;
    return JSON.stringify({ kind, ...fields, elem }, (key, value) =>
      key === "counter" || key === "handle" ? null : value,
    );
  });
  return { content: content.toSorted(), changes };
}

function isDynamic({ flags = [] }: Fields): boolean {
  return flags.includes("dynamic") || flags.includes("timeout");
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
