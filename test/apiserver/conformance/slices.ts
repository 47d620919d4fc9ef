import assert from "node:assert/strict";
import { test } from "node:test";
import type { CaseStage, ServiceCase, Slice } from "../service-case.ts";
import { exported, exportedTwice, HELLO, portText } from "./fixture.ts";

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

/** Of the suite's cases with connections: which clusters' slices have which ports. */
export function sourceCases(stage: () => CaseStage): void {
  test("C19 (its control plane): a Service that its own cluster does not export contributes nothing", async () => {
    const story = await exportedTwice(stage());
    for (const id of story.clusters)
      await untilSlices(story, id, ["cluster-1 tcp,udp", "cluster-2 tcp,udp"]);
    await story.unexport("cluster-2");
    for (const id of story.clusters) {
      await untilSlices(story, id, ["cluster-1 tcp,udp"]);
      await story.untilImported(id, ({ status }) =>
        assert.deepEqual(status?.clusters, [{ cluster: "cluster-1" }]),
      );
    }
  });

  test("C20 (its control plane): a port whose number conflicts with the older export's has no endpoint of that cluster", async () => {
    const story = await exportedTwice(stage(), {
      ...HELLO,
      ports: [{ name: "tcp", port: 4242, protocol: "TCP" }],
    });
    for (const id of story.clusters) {
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(status?.clusters?.length, 2);
        assert.deepEqual(spec.ports.map(portText), ["tcp 42/TCP", "udp 42/UDP"]);
      });
      await untilSlices(story, id, ["cluster-1 tcp,udp"]);
    }
  });

  test("C21 (its control plane): a port that one cluster exposes has only that cluster's endpoints", async () => {
    const story = await exportedTwice(stage(), {
      ...HELLO,
      ports: [{ name: "tcp2", port: 4242, protocol: "TCP" }],
    });
    for (const id of story.clusters)
      await untilSlices(story, id, ["cluster-1 tcp,udp", "cluster-2 tcp2"]);
  });
}

/** Waits until the IPv4 slices in a cluster are of these sources, with these ports. */
async function untilSlices(
  story: ServiceCase,
  id: string,
  expected: readonly string[],
): Promise<void> {
  await story.until(id, async () => {
    const slices = (await story.slices(id)).filter(({ addressType }) => addressType === "IPv4");
    assert.deepEqual(slices.map(sourceAndPorts), expected);
  });
}

function sourceAndPorts({ metadata: { labels }, ports }: Slice): string {
  const names = ports.map(({ name = "" }) => name);
  return `${labels["multicluster.kubernetes.io/source-cluster"]} ${names.sort((a, b) => (a < b ? -1 : 1)).join()}`;
}
