import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import {
  type CaseCluster,
  type CaseStage,
  type ServedPort,
  ServiceCase,
  type ServiceImport,
  type ServiceSpec,
  type Slice,
} from "../service-case.ts";

/** Ports of the suite's Service. */
export const PORTS: readonly ServedPort[] = [
  { name: "tcp", port: 42, protocol: "TCP" },
  { name: "udp", port: 42, protocol: "UDP" },
];

/** The suite's Service. */
export const HELLO: ServiceSpec = {
  ports: PORTS,
  sessionAffinity: "ClientIP",
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
  ipFamilyPolicy: "PreferDualStack",
};

/** Labels and annotations of the Service itself: never exported. */
const METADATA = {
  labels: { dummy: "label" },
  annotations: { "example.com/dummy": "annotation" },
};

/** The suite's Service, with these fields, in a cluster (`cluster-1`: 10.1.0.7 and fd00:10:1::7), with its pod's slices; not exported yet. */
async function hello(story: ServiceCase, id: string, more: ServiceSpec = {}): Promise<void> {
  const { ports = PORTS } = more;
  const number = id.replace("cluster-", "");
  await story.serve(id, { ...HELLO, ...more }, METADATA);
  for (const address of [`10.${number}.0.7`, `fd00:10:${number}::7`]) {
    await story.slice(id, [{ addresses: [address], conditions: { ready: true } }], ports);
  }
}

/** A case with the Service in cluster-1, exported from there. */
export async function exported<Cluster extends CaseCluster>(
  stage: CaseStage<Cluster>,
  more: ServiceSpec = {},
  exporting: object = {},
): Promise<ServiceCase<Cluster>> {
  const story = await ServiceCase.open(stage);
  await hello(story, "cluster-1", more);
  await story.export("cluster-1", exporting);
  return story;
}

/** As `exported`; then cluster-2 exports a younger Service of the same name. */
async function exportedTwice(
  stage: CaseStage,
  younger: ServiceSpec = {},
  exporting: readonly [object, object] = [{}, {}],
): Promise<ServiceCase> {
  const story = await exported(stage, {}, exporting[0]);
  await story.untilImported("cluster-1", () => {});
  await story.grow();
  await hello(story, "cluster-2", younger);
  await story.export("cluster-2", exporting[1]);
  return story;
}

/** A port as an import shows it, as words. */
export function portText({ name, port, protocol }: ServedPort): string {
  return `${name} ${port}/${protocol}`;
}

/** The ports of an import, in the order of their names. */
function portsText({ ports }: ServiceImport["spec"]): string {
  return ports.map(portText).sort().join(", ");
}

/** Cases of the suite about imports that come, stay and go. */
export function lifeCases(stage: () => CaseStage): void {
  test("C01 (required): when one of two exports is deleted the import stays; with the last one it is deleted", async () => {
    const story = await exportedTwice(stage());
    const both = await story.untilImported("cluster-1", ({ status }) =>
      assert.deepEqual(status?.clusters, [{ cluster: "cluster-1" }, { cluster: "cluster-2" }]),
    );
    await story.unexport("cluster-1");
    const one = await story.untilImported("cluster-1", ({ status }) =>
      assert.deepEqual(status?.clusters, [{ cluster: "cluster-2" }]),
    );
    const changes = await story.changesSince("cluster-1", both);
    assert.ok(changes.length > 0 && changes.every(({ type }) => type === "MODIFIED"));
    assert.deepEqual(one.spec.ips, both.spec.ips);
    assert.ok(changes.every(({ to }) => to.spec.ips?.join() === both.spec.ips?.join()));
    await story.unexport("cluster-2");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C02 (required): every cluster imports a ClusterIP Service as ClusterSetIP until the export is deleted", async () => {
    const story = await exported(stage());
    await story.untilCondition("cluster-1", "Valid", "True Valid");
    await story.everywhere(({ spec }) => assert.equal(spec.type, "ClusterSetIP"));
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C10 (required): a headless Service is imported as Headless, with its families, until the export is deleted", async () => {
    const story = await exported(stage(), {
      clusterIP: "None",
      sessionAffinity: "None",
      sessionAffinityConfig: null,
    });
    await story.everywhere(({ spec }) => {
      assert.equal(spec.type, "Headless");
      assert.deepEqual(spec.ipFamilies, ["IPv4", "IPv6"], "C25 and C27 go by them");
    });
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C11 (required): a headless import never has a VIP", async () => {
    const story = await exported(stage(), { clusterIP: "None" });
    await story.everywhere(({ status }) => assert.equal(status?.clusters?.length, 1));
    await story.settle("cluster-1");
    for (const id of story.clusters) {
      assert.deepEqual((await story.imported(id))?.spec.ips ?? [], []);
    }
  });

  test("C12 (required): an ExternalName Service is not valid for export, and no cluster imports it", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("cluster-1", { type: "ExternalName", externalName: "example.com" });
    await story.export("cluster-1");
    await story.untilCondition("cluster-1", "Valid", "False InvalidServiceType");
    await story.settle("cluster-1");
    for (const id of story.clusters) assert.equal(await story.imported(id), undefined);
  });

  test("C14 (required): no cluster imports a Service without an export", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of story.clusters) await hello(story, id);
    for (const id of story.clusters) await story.settle(id);
    for (const id of story.clusters) {
      assert.equal(await story.imported(id), undefined);
      assert.deepEqual(await story.allSlices(id), []);
    }
  });
}

/** Cases of the suite about fields of imports, and conflicts of exports. */
export function propertyCases(stage: () => CaseStage): void {
  test("C03 (required): session affinity and its timeout are the Service's", async () => {
    const story = await exported(stage());
    await story.everywhere(({ spec }) => {
      assert.equal(spec.sessionAffinity, "ClientIP");
      assert.deepEqual(spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10 } });
    });
  });

  test("C04 (required): the internal traffic policy is the Service's", async () => {
    for (const policy of ["Cluster", "Local"]) {
      const story = await exported(stage(), { internalTrafficPolicy: policy });
      await story.everywhere(({ spec }) => assert.equal(spec.internalTrafficPolicy, policy));
    }
  });

  test("C05 (required): the traffic distribution is the Service's", async () => {
    const story = await exported(stage(), { trafficDistribution: "PreferClose" });
    await story.everywhere(({ spec }) => assert.equal(spec.trafficDistribution, "PreferClose"));
  });

  test("C06 (required): an import has a VIP for each of its families, in their order", async () => {
    const families = ["IPv4", "IPv6"];
    for (const ordered of [families, families.toReversed()]) {
      const story = await exported(stage(), { ipFamilies: ordered });
      await story.everywhere(({ spec: { ips = [], ipFamilies } }) => {
        const found = ips.map((ip) => `IPv${isIP(ip)}`);
        assert.deepEqual([found, ipFamilies], [ordered, ordered]);
      });
    }
  });

  test("C07 (required): the ports are the Service's", async () => {
    const ports = [
      { ...PORTS[0], port: 42, appProtocol: "example.com/hello" },
      { ...PORTS[1], port: 42 },
    ];
    const story = await exported(stage(), { ports });
    await story.everywhere(({ spec }) => assert.deepEqual(spec.ports, ports));
  });

  test("C08 (required): different ports are merged, and both exporters have the conflict condition", async () => {
    const [tcp] = PORTS;
    const ports = [
      { ...tcp, port: 42 },
      { name: "stcp", port: 142, protocol: "SCTP" },
    ];
    const story = await exportedTwice(stage(), { ports });
    await untilConflict(story, "PortConflict", ({ spec }) =>
      assert.equal(portsText(spec), "stcp 142/SCTP, tcp 42/TCP, udp 42/UDP"),
    );
  });

  test("C09 (required): of two numbers of one port the older export's is used, and both exporters have the conflict condition", async () => {
    const story = await exportedTwice(stage(), {
      ports: [{ name: "tcp", port: 43, protocol: "TCP" }],
    });
    await untilConflict(story, "PortConflict", ({ spec }) =>
      assert.equal(portsText(spec), "tcp 42/TCP, udp 42/UDP"),
    );
  });

  test("C13 (required): a younger headless export does not make the import headless, and both exporters have the conflict condition", async () => {
    const story = await exportedTwice(stage(), { clusterIP: "None" });
    await untilConflict(story, "TypeConflict", ({ spec }) =>
      assert.equal(spec.type, "ClusterSetIP"),
    );
  });

  test("C15 (optional): an import has the labels and annotations of the export's spec, and no metadata of Service or export", async () => {
    const exporting = {
      exportedLabels: { team: "shop" },
      exportedAnnotations: { owner: "jane" },
    };
    const story = await exported(stage(), {}, exporting);
    for (const id of story.clusters) {
      const { metadata } = await story.untilImported(id, ({ metadata }) => {
        assert.deepEqual(metadata.labels, { team: "shop" });
        assert.equal(annotationsOf(metadata).owner, "jane");
      });
      assert.equal(annotationsOf(metadata)["example.com/dummy"], undefined);
    }
  });

  test("C16 (optional): of two exports' labels and annotations the older export's are used, and both have the conflict condition", async () => {
    const [first = {}, second = {}] = ["cluster-1", "cluster-2"].map((id) => ({
      exportedLabels: { [id]: "label" },
      exportedAnnotations: { [id]: "annotation" },
    }));
    const story = await exportedTwice(stage(), {}, [first, second]);
    await untilConflict(story, "LabelsConflict,AnnotationsConflict", ({ metadata }) => {
      assert.deepEqual(metadata.labels, { "cluster-1": "label" });
      assert.equal(annotationsOf(metadata)["cluster-1"], "annotation");
      assert.equal(annotationsOf(metadata)["cluster-2"], undefined);
    });
  });
}

/** Waits until all clusters, both exporters, have this conflict, and an import of both for which the check holds. */
async function untilConflict(
  story: ServiceCase,
  reasons: string,
  check: (found: ServiceImport) => void,
): Promise<void> {
  for (const id of story.clusters) {
    await story.untilCondition(id, "Conflict", `True ${reasons}`);
    await story.untilImported(id, (found) => {
      assert.equal(found.status?.clusters?.length, 2);
      check(found);
    });
  }
}

function annotationsOf(metadata: object): Record<string, string> {
  return (metadata as { annotations?: Record<string, string> }).annotations ?? {};
}

/** Cases of the suite about imported slices. */
export function sliceCases(stage: () => CaseStage): void {
  test("C17 (optional): every cluster has a slice of each family, with labels for its origin, until the export is deleted", async () => {
    const story = await exported(stage());
    for (const id of story.clusters) {
      await story.until(id, async () => {
        const slices = await story.slices(id);
        const addresses = slices.map(({ addressType, endpoints }) => [
          addressType,
          ...endpoints.flatMap(({ addresses }) => addresses),
        ]);
        assert.equal(addresses.join(" "), "IPv4,10.1.0.7 IPv6,fd00:10:1::7");
        for (const { metadata } of slices)
          assert.partialDeepStrictEqual(metadata.labels, {
            "multicluster.kubernetes.io/service-name": "hello",
            "multicluster.kubernetes.io/source-cluster": "cluster-1",
            "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
          });
      });
    }
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });
}

/** Of the suite's cases with connections: which clusters' slices have which ports. */
function sourceCases(stage: () => CaseStage): void {
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
      ports: [{ name: "tcp", port: 4242, protocol: "TCP" }],
    });
    for (const id of story.clusters) {
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(status?.clusters?.length, 2);
        assert.equal(portsText(spec), "tcp 42/TCP, udp 42/UDP");
      });
      await untilSlices(story, id, ["cluster-1 tcp,udp"]);
    }
  });

  test("C21 (its control plane): a port that one cluster exposes has only that cluster's endpoints", async () => {
    const story = await exportedTwice(stage(), {
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

/** All cases that a control plane can show, by their numbers. */
export function conformanceCases(stage: () => CaseStage): void {
  lifeCases(stage);
  propertyCases(stage);
  sliceCases(stage);
  sourceCases(stage);
}
