import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

// Every object of ours in every table, as the kernel lists them: each is flushed, and then deleted if the kernel allows that.

const PATIENCE = 45_000;
const NFTABLES = BACKENDS.filter(({ title }) => title === "nftables");

interface Listed {
  readonly [kind: string]: Fields | undefined;
}
interface Fields {
  readonly family?: string;
  readonly table?: string;
  readonly name?: string;
  readonly flags?: readonly string[];
  readonly [field: string]: unknown;
}

for (const backend of NFTABLES) {
  let stage: NodeStage;
  before(async () => {
    stage = await NodeStage.create({ backend, flags: () => ["--health", "all"] });
    await stage.start();
    await stage.rules();
  });
  after(() => stage?.[Symbol.asyncDispose]());

  /** What is in our tables: without what packets change, and without handles. */
  const listed = async (): Promise<Listed[]> => {
    const { nftables } = JSON.parse(await stage.node.exec(["nft", "-j", "list", "ruleset"])) as {
      nftables: Listed[];
    };
    return nftables.filter((one) => {
      const [fields] = Object.values(one);
      return (fields?.table ?? fields?.name ?? "").startsWith("clusterset");
    });
  };
  const isDynamic = ({ flags = [] }: Fields): boolean =>
    flags.includes("dynamic") || flags.includes("timeout");
  const content = async (): Promise<string[]> => {
    const all = await listed();
    return all
      .map((one) => {
        const [[kind, fields] = ["", {} as Fields | undefined]] = Object.entries(one);
        const elem = isDynamic(fields as Fields) ? undefined : (fields as Fields).elem;
        return JSON.stringify({ kind, ...fields, elem, handle: undefined }, (key, value) =>
          key === "counter" || key === "handle" ? null : value,
        );
      })
      .toSorted();
  };

  test(`${backend.title}: each chain, set and map that is flushed or deleted is repaired`, async (t) => {
    await eventually(async () => {
      const tables = new Set((await listed()).map(({ table }) => table?.name));
      for (const own of ["connections", "health", "proxy"])
        assert.ok(tables.has(`clusterset-${own}`));
    }, PATIENCE);
    const whole = await content();
    const objects = (await listed()).flatMap((one) => {
      const [[kind, fields] = ["", undefined]] = Object.entries(one);
      return fields !== undefined && ["chain", "set", "map"].includes(kind)
        ? [{ kind, fields }]
        : [];
    });
    assert.ok(objects.length > 20, `${objects.length}`);
    // One of each kind: chains with numbers in their names are alike.
    const kinds = new Map(
      objects
        .filter(({ fields }) => !isDynamic(fields))
        .map((one) => [JSON.stringify({ ...one.fields, handle: 0 }).replaceAll(/\d+/g, ""), one]),
    );
    let changed = 0;
    for (const { kind, fields } of kinds.values()) {
      const { family = "", table = "", name = "" } = fields;
      for (const verb of ["flush", "delete"]) {
        const what = [verb, kind, family, table, name].join(" ");
        // What is referenced cannot be deleted.
        const isDone = await stage.node.exec(["nft", what]).then(
          () => true,
          () => false,
        );
        if (!isDone || (await content()).join() === whole.join()) continue;
        changed++;
        await eventually(async () => assert.deepEqual(await content(), whole, what), PATIENCE);
      }
    }
    t.diagnostic(`${changed} changes of ${kinds.size} kinds of objects`);
    assert.ok(changed > 10, `${changed}`);
  });
}
