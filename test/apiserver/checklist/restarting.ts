import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerStage } from "../controller-stage.ts";
import { ServiceCase } from "../service-case.ts";

/** What stays when controllers start again. */
export function restartingItems(stage: () => ControllerStage): void {
  test("items 23 and 31: a restarted controller writes no import, slice or VIP, and processes later changes", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
    }
    await story.settle("c1");
    await story.untilSlices("c2", (slices) => assert.equal(slices.length, 2));
    const { id, plane } = story.in("c2");
    const kinds = [story.importReference, story.reference("discovery.k8s.io/v1", "EndpointSlice")];
    const versions = async () => {
      const lists = await Promise.all(
        kinds.map(({ apiVersion, kind }) => plane.admin.list({ apiVersion, kind })),
      );
      return lists.flat().map(({ kind, metadata }) => {
        const { namespace, name, resourceVersion, uid } = metadata;
        return { kind, namespace, name, resourceVersion, uid };
      });
    };
    await story.in(id).atRest();
    const before = await versions();
    assert.ok(before.length > 2);
    await story.in(id).stop();
    await story.in(id).launch();
    await story.in(id).untilLogged("this replica reconciles");
    await story.in(id).atRest();
    assert.deepEqual(await versions(), before);
    await story.settle("c2");
  });
}
