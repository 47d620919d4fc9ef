import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerStage } from "../controller-stage.ts";
import { ServiceCase, type ServiceImport, type ServiceSpec } from "../service-case.ts";

/** What c1, the oldest, and c2 export, and what c3 exports instead. */
interface Disagreement {
  readonly reason: string;
  readonly oldest?: ServiceSpec;
  readonly younger?: ServiceSpec;
  /** What the ServiceExports say. */
  readonly exporting?: readonly [object, object];
  /** What the message begins with. */
  readonly message: string;
}

const CLIENT_IP = { sessionAffinity: "ClientIP" };
const seconds = (timeoutSeconds: number) => ({
  ...CLIENT_IP,
  sessionAffinityConfig: { clientIP: { timeoutSeconds } },
});
const DUAL = { ipFamilyPolicy: "RequireDualStack" };

const DISAGREEMENTS: readonly Disagreement[] = [
  {
    reason: "PortConflict",
    younger: { ports: [{ name: "http", port: 81, protocol: "TCP" }] },
    message: 'ports are merged, the oldest export\'s (c1: "http 80/TCP") first; 1/3 clusters',
  },
  {
    reason: "TypeConflict",
    younger: { clusterIP: "None" },
    message: 'type is taken from the oldest export, "ClusterSetIP" of c1; 1/3 clusters',
  },
  {
    reason: "SessionAffinityConflict",
    younger: CLIENT_IP,
    message: 'sessionAffinity is taken from the oldest export, "None" of c1; 1/3 clusters',
  },
  {
    reason: "SessionAffinityConfigConflict",
    oldest: seconds(10),
    younger: seconds(20),
    message: "sessionAffinityConfig is taken from the oldest export, timeoutSeconds 10 of c1; 1/3",
  },
  {
    reason: "InternalTrafficPolicyConflict",
    younger: { internalTrafficPolicy: "Local" },
    message: 'internalTrafficPolicy is taken from the oldest export, "Cluster" of c1; 1/3 clusters',
  },
  {
    reason: "TrafficDistributionConflict",
    oldest: { trafficDistribution: "PreferClose" },
    message: 'trafficDistribution is taken from the oldest export, "PreferSameZone" of c1; 1/3',
  },
  {
    reason: "LabelsConflict",
    exporting: [{ exportedLabels: { team: "shop" } }, { exportedLabels: { team: "other" } }],
    message: "exportedLabels is taken from the oldest export, ",
  },
  {
    reason: "AnnotationsConflict",
    exporting: [{ exportedAnnotations: { a: "1" } }, {}],
    message: "exportedAnnotations is taken from the oldest export, ",
  },
  {
    reason: "IPFamilyConflict",
    oldest: DUAL,
    younger: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] },
    message: 'ipFamilies is taken from the oldest export, "IPv4, IPv6" of c1; 1/3 clusters',
  },
  {
    reason: "TypeConflict,LabelsConflict",
    younger: { clusterIP: "None" },
    exporting: [{}, { exportedLabels: { team: "other" } }],
    message: "type is taken from the oldest export, ",
  },
];

/** Conflicts: the oldest export wins, and every exporter gets a condition. */
export function conflictItems(stage: () => ControllerStage): void {
  for (const {
    reason,
    oldest,
    younger,
    exporting: [first, last] = [{}, {}],
    message,
  } of DISAGREEMENTS) {
    test(`conflicts: every exporter's condition has ${reason}, the winner and the number of conflicting exports, and the import does not change`, async () => {
      const story = await ServiceCase.open(stage());
      for (const id of ["c1", "c2"]) {
        await story.serve(id, oldest);
        await story.export(id, first);
        if (id === "c1") await story.grow();
      }
      for (const id of ["c1", "c2"])
        await story.untilCondition(id, "Conflict", "False NoConflicts");
      const before = await story.untilImported("c3", ({ status }) =>
        assert.equal(status?.clusters?.length, 2),
      );
      await story.grow();
      await story.serve("c3", younger);
      await story.export("c3", last);
      for (const id of story.clusters) {
        const { message: said } = await story.untilCondition(
          id,
          "Conflict",
          `True ${reason} ${message}`,
        );
        assert.match(said, /of c1; 1\/3 clusters disagree\.|\(c1: .*; 1\/3 clusters disagree\./);
        await story.untilCondition(id, "Valid", "True Valid");
      }
      const after = await story.untilImported("c3", ({ status }) =>
        assert.equal(status?.clusters?.length, 3),
      );
      assert.deepEqual(spoken(after), spoken(before));
      await story.unexport("c3");
      for (const id of ["c1", "c2"])
        await story.untilCondition(id, "Conflict", "False NoConflicts");
    });
  }

  test("conflicts: when the winner is deleted, the next oldest wins, and the conditions of the others name it", async () => {
    const story = await ServiceCase.open(stage());
    for (const [id, port] of [
      ["c3", 83],
      ["c2", 82],
      ["c1", 81],
    ] as const) {
      await story.serve(id, { ports: [{ name: "http", port, protocol: "TCP" }] });
      await story.export(id);
      await story.grow();
    }
    const won = async (winner: string, port: number, told: readonly string[], share: string) => {
      for (const id of told) {
        const words = `ports are merged, the oldest export's (${winner}: "http ${port}/TCP") first; ${share}`;
        await story.untilCondition(id, "Conflict", `True PortConflict ${words}`);
      }
      for (const id of story.clusters) {
        await story.untilImported(id, ({ spec }) =>
          assert.deepEqual(spec.ports, [{ name: "http", port, protocol: "TCP" }]),
        );
      }
    };
    await won("c3", 83, story.clusters, "2/3");
    await story.unexport("c3");
    await won("c2", 82, ["c1", "c2"], "1/2");
    // Who comes back is the youngest.
    await story.grow();
    await story.export("c3");
    await won("c2", 82, story.clusters, "2/3");
    await story.unexport("c2");
    await story.unexport("c3");
    await story.untilCondition("c1", "Conflict", "False NoConflicts");
    await story.untilImported("c2", ({ spec }) => assert.equal(spec.ports[0]?.port, 81));
  });
}

/** All that clients see of an import but its ports, which are united. */
function spoken({ metadata: { labels, annotations = {} }, spec }: ServiceImport): unknown {
  const { "clusterset-proxy.io/exports": _, ...shown } = annotations as Record<string, string>;
  return { labels, annotations: shown, spec: { ...spec, ports: spec.ports.slice(0, 1) } };
}
