import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { collect } from "./collect.ts";
import { writeBundle } from "./write-bundle.ts";

const OPTIONS = { mostAgents: 20, logLines: 10, withFreeText: false };
const never = new AbortController().signal;

/** A cluster with pods of agents. `fails`: lists and paths that are not answered; `page`: called for each page of a pod. */
function clusterWith({
  agents,
  fails = () => false,
  page = async () => undefined,
}: {
  readonly agents: readonly string[];
  readonly fails?: (asked: string) => boolean;
  readonly page?: (pod: string) => Promise<unknown>;
}) {
  const asked: string[] = [];
  const ask = (what: string) => {
    asked.push(what);
    if (fails(what)) throw new ApiFault("stalled", "No response within 30 seconds");
  };
  const cluster = {
    context: "one",
    api: {
      request: async ({ path }: { readonly path: string }) => {
        ask(path);
        return { status: 200, header: () => undefined, body: Readable.from([Buffer.from("x")]) };
      },
    },
    list: async ({ resource, labelSelector = "" }: ResourceQuery) => {
      ask(resource);
      const found = labelSelector === "app.kubernetes.io/name=clusterset-agent" ? agents : [];
      return found.map((name) => ({ metadata: { name } }));
    },
    page: async ({ pod }: { readonly pod: string }) => {
      await page(pod);
      return { status: 200, text: "ok" };
    },
  } as unknown as Cluster;
  return { cluster, asked };
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of items) all.push(one);
  return all;
}

test("lists that are too slow, one after the other, are missing, and nothing else is", async () => {
  const slow = ["serviceexports", "serviceimports", "endpointslices"];
  const { cluster } = clusterWith({ agents: ["agent-1"], fails: (what) => slow.includes(what) });
  const files = await allOf(collect(cluster, { ...OPTIONS, podsAtOnce: 8 }, never));
  assert.deepEqual(
    files.filter(({ fault }) => fault !== undefined).map(({ path }) => path),
    ["serviceexports", "serviceimports", "endpointslices", "records"].map(
      (name) => `objects/${name}.json`,
    ),
  );
  const paths = files.map(({ path }) => path);
  for (const path of ["objects/leases.json", "pages/agent-1/plan.json", "logs/agent-1.log"])
    assert.ok(paths.includes(path), paths.join("\n"));
});

test("an API server that stops answering is asked for one object, and for nothing after it", async () => {
  let left = 4;
  const { cluster, asked } = clusterWith({ agents: ["agent-1"], fails: () => left-- <= 0 });
  const files = await allOf(collect(cluster, { ...OPTIONS, podsAtOnce: 8 }, never));
  const cheap = "/api/v1/namespaces/clusterset-proxy/pods?limit=1";
  // The fourth is of imports' slices, the fifth of records.
  assert.deepEqual(asked.slice(3), ["endpointslices", "endpointslices", cheap]);
  assert.match(files.at(-1)?.fault ?? "", /^stalled: /);
});

for (const [contexts, expected] of [
  [1, 8],
  [3, 6],
  [5, 8],
] as const)
  test(`of ${contexts} contexts, ${expected} pods are read at the same time`, async () => {
    const reading = new Map<string, number>();
    let most = 0;
    const agents = Array.from({ length: contexts === 1 ? 9 : 3 }, (_, i) => `agent-${i}`);
    const clusters = Array.from({ length: contexts }, (_, i) => {
      const page = async (pod: string) => {
        const name = `${i}/${pod}`;
        reading.set(name, (reading.get(name) ?? 0) + 1);
        most = Math.max(most, reading.size);
        for (let turn = 0; turn < 50; turn++) await setImmediate();
        const pages = (reading.get(name) ?? 0) - 1;
        if (pages > 0) reading.set(name, pages);
        else reading.delete(name);
      };
      return clusterWith({ agents, page }).cluster;
    });
    const folder = mkdtempSync(join(tmpdir(), "csp-bundle-"));
    try {
      const options = { ...OPTIONS, logLines: 0, seconds: 0, program: "test" };
      const contents = await writeBundle(join(folder, "bundle.tar.gz"), clusters, options, never);
      const pages = contents.filter(({ path }) => path.endsWith("/plan.json"));
      assert.equal(pages.length, contexts * agents.length);
      assert.equal(most, expected);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
