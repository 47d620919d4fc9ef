import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const NAMES = ["shop/api", "shop/cart", "shop/web"];
/** Milliseconds by which answers are later than events. */
const LATE_MS = 50;

test("an export deleted right after its status write is withdrawn, even if the watch reports it before the answer", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const cluster of world.clusters) {
    cluster.namespace("shop");
    for (const key of NAMES) {
      cluster.offer(key, [cluster === c1 ? "10.1.0.7" : "10.2.0.7"]);
    }
  }
  world.start();
  await world.pass(20_000);
  const request = c1.server.request.bind(c1.server);
  c1.server.request = async (asked) => {
    const answer = await request(asked);
    const isStatus = asked.write !== undefined && asked.path.includes("/serviceexports/");
    if (isStatus) await new Promise<void>((resolve) => world.clock.after(LATE_MS, resolve));
    return answer;
  };
  const unlisten = c1.server.objects.listen(({ kind, key, type }) => {
    if (kind === "serviceexports" && type === "MODIFIED") c1.delete("ServiceExport", key);
  });
  for (const key of NAMES) c2.serve(key, ["10.2.0.7"], [], 8080);
  await world.pass(60_000);
  unlisten();
  assert.deepEqual(c1.server.objects.list("serviceexports"), []);
  const theirs = Object.fromEntries(NAMES.map((key) => [key, "vip 10.2.0.7"]));
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), theirs);
});
