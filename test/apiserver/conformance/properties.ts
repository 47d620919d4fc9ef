import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import type { CaseStage } from "../service-case.ts";
import { exported, exportedTwice, HELLO, PORTS, portText } from "./fixture.ts";

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
      const story = await exported(stage(), { ...HELLO, internalTrafficPolicy: policy });
      await story.everywhere(({ spec }) => assert.equal(spec.internalTrafficPolicy, policy));
    }
  });

  test("C05 (required): the traffic distribution is the Service's", async () => {
    const story = await exported(stage(), { ...HELLO, trafficDistribution: "PreferClose" });
    await story.everywhere(({ spec }) => assert.equal(spec.trafficDistribution, "PreferClose"));
  });

  test("C06 (required): an import has a VIP for each of its families, in their order", async () => {
    for (const families of [
      ["IPv4", "IPv6"],
      ["IPv6", "IPv4"],
    ]) {
      const story = await exported(stage(), { ...HELLO, ipFamilies: families });
      await story.everywhere(({ spec: { ips = [], ipFamilies } }) => {
        const found = ips.map((ip) => `IPv${isIP(ip)}`);
        assert.deepEqual([found, ipFamilies], [families, families]);
      });
    }
  });

  test("C07 (required): the ports are the Service's", async () => {
    const ports = [
      { ...PORTS[0], port: 42, appProtocol: "example.com/hello" },
      { ...PORTS[1], port: 42 },
    ];
    const story = await exported(stage(), { ...HELLO, ports });
    await story.everywhere(({ spec }) => assert.deepEqual(spec.ports, ports));
  });

  test("C08 (required): different ports are merged, and both exporters have the conflict condition", async () => {
    const younger = {
      ports: [
        { name: "tcp", port: 42, protocol: "TCP" },
        { name: "stcp", port: 142, protocol: "SCTP" },
      ],
    };
    const story = await exportedTwice(stage(), { ...HELLO, ...younger });
    await story.everywhere(({ spec }) =>
      assert.deepEqual(spec.ports.map(portText).sort(), [
        "stcp 142/SCTP",
        "tcp 42/TCP",
        "udp 42/UDP",
      ]),
    );
    for (const id of story.clusters)
      await story.untilCondition(id, "Conflict", "True PortConflict");
  });

  test("C09 (required): of two numbers of one port the older export's is used, and both exporters have the conflict condition", async () => {
    const story = await exportedTwice(stage(), {
      ...HELLO,
      ports: [{ name: "tcp", port: 43, protocol: "TCP" }],
    });
    for (const id of story.clusters) {
      await story.untilCondition(id, "Conflict", "True PortConflict");
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(status?.clusters?.length, 2);
        assert.deepEqual(spec.ports.map(portText).sort(), ["tcp 42/TCP", "udp 42/UDP"]);
      });
    }
  });

  test("C13 (required): a younger headless export does not make the import headless, and both exporters have the conflict condition", async () => {
    const headless = { clusterIP: "None" };
    const story = await exportedTwice(stage(), { ...HELLO, ...headless });
    for (const id of story.clusters) {
      await story.untilCondition(id, "Conflict", "True TypeConflict");
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(status?.clusters?.length, 2);
        assert.equal(spec.type, "ClusterSetIP");
      });
    }
  });

  test("C15 (optional): an import has the labels and annotations of the export's spec, and no metadata of Service or export", async () => {
    const story = await exported(stage(), HELLO, {
      exportedLabels: { team: "shop" },
      exportedAnnotations: { owner: "jane" },
    });
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
    const story = await exportedTwice(stage(), HELLO, [first, second]);
    for (const id of story.clusters) {
      await story.untilCondition(id, "Conflict", "True LabelsConflict,AnnotationsConflict");
      await story.untilImported(id, ({ metadata, status }) => {
        assert.equal(status?.clusters?.length, 2);
        assert.deepEqual(metadata.labels, { "cluster-1": "label" });
        assert.equal(annotationsOf(metadata)["cluster-1"], "annotation");
        assert.equal(annotationsOf(metadata)["cluster-2"], undefined);
      });
    }
  });
}

function annotationsOf(metadata: object): Record<string, string> {
  return (metadata as { annotations?: Record<string, string> }).annotations ?? {};
}
