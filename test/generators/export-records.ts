import fc from "fast-check";
import { FAMILIES } from "../../api/address.ts";
import { objectKey } from "../../api/names.ts";
import { PROTOCOLS } from "../../api/protocol.ts";
import type { ExportRecord, ServicePort } from "../../controller/model/facts.ts";

/** The name that all records here export. */
export const KEY = objectKey("demo", "serve");

/** A record of an ordinary Service: one port, one family, defaults otherwise. */
export function exportRecord(over: Partial<ExportRecord> = {}): ExportRecord {
  return {
    cluster: "c1",
    key: KEY,
    exported: 1000,
    headless: false,
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    families: ["IPv4"],
    sessionAffinity: "None",
    metadata: { labels: {}, annotations: {} },
    ...over,
  };
}

/** `"tcp 42"`, `"dns 53/UDP"`, `"80"`: a port in as few characters as there are. */
export function servicePort(text: string): ServicePort {
  const match = /^(?:([a-z][-a-z0-9]*) )?(\d+)(?:\/(TCP|UDP|SCTP))?$/.exec(text);
  if (match === null) throw new Error(`not a port: ${text}`);
  const protocol = PROTOCOLS.find((known) => known === match[3]) ?? "TCP";
  return { name: match[1] ?? "", protocol, port: Number(match[2]) };
}

/** Several, separated by commas. */
export function servicePorts(text: string): ServicePort[] {
  return text.split(", ").map(servicePort);
}

/** Few values of everything, so that clusters agree about as often as they do not. */
const PORT: fc.Arbitrary<ServicePort> = fc.record(
  {
    name: fc.constantFrom("", "a", "b", "c"),
    protocol: fc.constantFrom("TCP", "UDP"),
    port: fc.constantFrom(80, 81, 82),
    appProtocol: fc.constantFrom("http", "grpc"),
  },
  { requiredKeys: ["name", "protocol", "port"] },
);

/** What a Service may hold: no name and no number of a protocol twice. */
const PORTS = fc
  .uniqueArray(PORT, { maxLength: 4, selector: ({ name }) => name })
  .chain((ports) =>
    fc.constant(
      ports.filter(
        ({ protocol, port }, i) =>
          ports.findIndex((one) => one.protocol === protocol && one.port === port) === i,
      ),
    ),
  );

const MAP = fc.dictionary(fc.constantFrom("x", "y", "__proto__"), fc.constantFrom("1", "2"), {
  maxKeys: 2,
});

/** Any record of one cluster; a small range of ages, so that some are equal. */
export function anyRecord(cluster: string): fc.Arbitrary<ExportRecord> {
  return fc.record(
    {
      cluster: fc.constant(cluster),
      key: fc.constant(KEY),
      exported: fc.nat(3),
      headless: fc.boolean(),
      ports: PORTS,
      families: fc.uniqueArray(fc.constantFrom(...FAMILIES), { minLength: 1 }),
      sessionAffinity: fc.constantFrom("ClientIP", "None"),
      affinitySeconds: fc.constantFrom(10, 10800),
      internalTrafficPolicy: fc.constantFrom("Cluster", "Local"),
      trafficDistribution: fc.constantFrom("PreferClose", "PreferSameZone", "PreferSameNode"),
      metadata: fc.record({ labels: MAP, annotations: MAP }),
    },
    {
      requiredKeys: [
        "cluster",
        "key",
        "exported",
        "headless",
        "ports",
        "families",
        "sessionAffinity",
        "metadata",
      ],
    },
  );
}

/** Names that do not occur in anything else of a record. */
export const CLUSTERS = ["cluster-p", "cluster-q", "cluster-r", "cluster-s"] as const;

/** Records of some of `CLUSTERS`, one each. */
export const ANY_RECORDS: fc.Arbitrary<ExportRecord[]> = fc
  .subarray([...CLUSTERS])
  .chain((clusters) => fc.tuple(...clusters.map(anyRecord)));
