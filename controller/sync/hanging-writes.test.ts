import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { ApiRequest } from "../../common/kubernetes/api-server.ts";
import type { MemoryApiServer } from "../../test/doubles/memory/memory-api-server.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";
import { readiness } from "../observe/pages.ts";

// Writes that take seconds in a webhook, in one namespace or in all, hold up nothing that does not pass through it.

/** What a webhook does with a write. */
const ANSWERS = {
  "ends at the timeout": { ms: 7_000, status: 504, reason: "Timeout" },
  "denies after six seconds": { ms: 6_000, status: 403, message: 'policy "p" denied it' },
  "lets it through after five seconds": { ms: 5_000 },
};

/** Sends the writes that match through a webhook. */
function intercept(
  world: ControllerWorld,
  server: MemoryApiServer,
  answer: keyof typeof ANSWERS,
  matches: (request: ApiRequest) => boolean,
): void {
  const request = server.request.bind(server);
  server.request = async (asked) => {
    if (asked.write === undefined || !matches(asked)) return request(asked);
    const { ms, status, ...said } = { status: 0, ...ANSWERS[answer] };
    await new Promise<void>((resolve) => world.clock.after(ms, resolve));
    if (status === 0) return request(asked);
    const body = Readable.from([Buffer.from(JSON.stringify(said))]);
    return { status, header: () => undefined, body };
  };
}

/** c1 exports bank/api on a hub, and c2 imports it; more namespaces exist. */
async function two(...namespaces: readonly string[]) {
  const { world, c1, c2, hub } = ControllerWorld.withHub(["c1", "c2"]);
  for (const cluster of world.clusters)
    for (const name of ["bank", ...namespaces]) cluster.namespace(name);
  c1.offer("bank/api", ["10.1.9.1"]);
  await world.run(5000);
  return { world, c1, c2, hub };
}

for (const answer of Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]) {
  for (const where of ["a cluster", "a registry"]) {
    test(`a webhook of one namespace that ${answer}, in ${where}, does not hold up another one, and the controller is ready`, async () => {
      const { world, c1, c2, hub } = await two("shop");
      const [slow, server] = where === "a cluster" ? [c2, c2.server] : [c1, hub];
      intercept(world, server, answer, ({ path }) => /\/shop\/|\.shop/.test(path));
      // Several slices of each import, which are written at the same time.
      const many = Array.from({ length: 900 }, (_, i) => `10.1.${1 + (i >> 7)}.${i & 127}`);
      for (let i = 0; i < 25; i++) c1.offer(`shop/new-${i}`, many);
      // From the first second on.
      await world.pass(500);
      for (const address of ["10.1.9.2", "10.1.9.3", "10.1.9.4"]) {
        c1.serve("bank/api", [address]);
        await c2.importAfter(2_000, "bank/api", `vip ${address}`);
        const checks = readiness(slow.controller ?? assert.fail());
        assert.ok(checks.every(({ reason }) => reason === undefined));
        await world.pass(20_000);
      }
    });
  }
}

test("a webhook that hangs for six namespaces, and has hung for another one: that follows within a minute", async () => {
  const many = Array.from({ length: 6 }, (_, i) => `shop-${i}`);
  const { world, c1, c2 } = await two(...many);
  const names = many.flatMap((one) => Array.from({ length: 40 }, (_, i) => `${one}/web-${i}`));
  for (const key of names) c1.offer(key, ["10.1.0.7"]);
  await world.pass(10_000);
  let hanging = /\/(bank|shop-\d)\/endpointslices\//;
  intercept(world, c2.server, "ends at the timeout", ({ path }) => hanging.test(path));
  for (const key of ["bank/api", ...names]) c1.serve(key, ["10.1.0.8"]);
  await world.pass(120_000);
  hanging = /\/shop-\d\/endpointslices\//;
  c1.serve("bank/api", ["10.1.9.2"]);
  await c2.importAfter(60_000, "bank/api", "vip 10.1.9.2");
});

for (const answer of ["ends at the timeout", "denies after six seconds"] as const) {
  test(`a webhook of all namespaces that ${answer}, for new slices: removals, statuses, Leases and the withdrawal of a dead cluster go on`, async () => {
    const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
    const names = Array.from({ length: 40 }, (_, i) => `ns-${i % 20}/web-${i}`);
    for (const cluster of world.clusters) for (let i = 0; i < 20; i++) cluster.namespace(`ns-${i}`);
    for (const key of names)
      for (const cluster of [c1, c3]) cluster.offer(key, [`10.${cluster.id.slice(1)}.0.7`]);
    await world.run(10_000);
    const created = (request: ApiRequest): boolean => {
      const name = /\/endpointslices\/([^?]*)/.exec(request.path)?.[1] ?? "";
      const namespace = /namespaces\/([^/]*)/.exec(request.path)?.[1] ?? "";
      return (
        name !== "" && c2.server.objects.get("endpointslices", `${namespace}/${name}`) === undefined
      );
    };
    intercept(world, c2.server, answer, created);
    // Each import needs one more slice, which hangs.
    const many = Array.from({ length: 150 }, (_, i) => `10.1.${1 + (i >> 7)}.${i & 127}`);
    for (const key of names) c1.serve(key, many);
    await world.pass(150_000);
    const served = (cluster: number): number =>
      names.filter((key) =>
        c2
          .imported()
          [key]?.split(" ")
          .some((one) => one.startsWith(`10.${cluster}.`) && !one.endsWith(")")),
      ).length;
    assert.equal(served(3), 40);
    // A removal, and a status, within seconds.
    c3.delete("ServiceExport", names[7] ?? "");
    c2.export(names[8] ?? "");
    await world.pass(5_000);
    assert.equal(served(3), 39);
    assert.match(c2.ready(names[8], "serviceexports"), /^False /);
    // A cluster dies: it is stale after 30 seconds.
    c3.kill();
    await world.pass(45_000);
    assert.equal(served(3), 0);
    assert.equal(served(1), 40);
    assert.ok(c1.log.every((line) => !line.includes("Cluster is stale") || !line.includes("c2")));
  });
}
