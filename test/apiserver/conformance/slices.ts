import assert from "node:assert/strict";
import { test } from "node:test";
import type { CaseStage } from "../service-case.ts";
import { exported } from "./fixture.ts";

/** Cases of the suite about imported slices. */
export function sliceCases(stage: () => CaseStage): void {
  test("C17 (optional): every cluster has a slice of each family, with labels for its origin, until the export is deleted", async () => {
    const story = await exported(stage());
    for (const id of story.clusters) {
      await story.until(id, async () => {
        const slices = await story.slices(id);
        assert.deepEqual(
          slices.map(({ addressType, endpoints }) => [
            addressType,
            endpoints.map(({ addresses }) => addresses[0]),
          ]),
          [
            ["IPv4", ["10.1.0.7"]],
            ["IPv6", ["fd00:10:1::7"]],
          ],
        );
        for (const {
          metadata: { labels },
        } of slices) {
          assert.equal(labels["multicluster.kubernetes.io/service-name"], "hello");
          assert.equal(labels["multicluster.kubernetes.io/source-cluster"], "cluster-1");
          assert.equal(labels["endpointslice.kubernetes.io/managed-by"], "clusterset-controller");
        }
      });
    }
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });
}
