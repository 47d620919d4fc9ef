import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest } from "../../common/kubernetes/api-server.ts";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

/** The spec of the import; its status is written next, in the same reconcile. */
const SPEC = /\/namespaces\/shop\/serviceimports\/web\?/;
/** Milliseconds; longer than an election Lease. */
const PAUSE_MS = 60_000;

test("a reconcile whose clock passes the end of the Lease between two writes does not send the second one", async () => {
  const world = new ControllerWorld(["c1"]);
  const c1 = world.cluster("c1");
  c1.namespace("shop");
  await world.run(5000);
  const { server } = c1;
  const late: string[] = [];
  let hasPaused = false;
  const answer = server.request.bind(server);
  server.request = async (request: ApiRequest) => {
    if (hasPaused && request.write !== undefined) late.push(request.path);
    const response = await answer(request);
    if (!hasPaused && request.write?.method === "PATCH" && SPEC.test(request.path)) {
      hasPaused = true;
      world.clock.jump(PAUSE_MS);
    }
    return response;
  };
  c1.offer("shop/web", ["10.1.0.7"]);
  for (let ms = 0; ms < 5000 && !hasPaused; ms++) await world.pass(1);
  assert.ok(hasPaused);
  const status = () => server.objects.get("serviceimports", "shop/web")?.status;
  assert.deepEqual(late, []);
  assert.equal(status(), undefined);
  await world.pass(60_000);
  assert.deepEqual(at(status(), ["clusters"]), [{ cluster: "c1" }], "written after re-election");
});
