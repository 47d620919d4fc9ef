/** What the conformance suite says of a case beside its result. */
export interface CaseInfo {
  /** The suite's labels, without Required and Optional. */
  readonly labels: readonly string[];
  /** A heading of KEP-1645. */
  readonly section: string;
}

const CLUSTER_IP = ["ClusterIP"];
const SLICES = ["EndpointSlice"];
const CONNECTIONS = ["ClusterIP", "Connectivity"];
const NAMES = ["ClusterIP", "DNS"];
const HEADLESS_NAMES = ["DNS", "Headless"];

/** All cases, by their number in docs/MCS-API.md. */
export const CASES: Readonly<Record<string, CaseInfo>> = {
  C01: { labels: [], section: "importing-services" },
  C02: { labels: CLUSTER_IP, section: "importing-services" },
  C03: { labels: CLUSTER_IP, section: "session-affinity" },
  C04: { labels: CLUSTER_IP, section: "global-properties" },
  C05: { labels: CLUSTER_IP, section: "global-properties" },
  C06: { labels: CLUSTER_IP, section: "clustersetip" },
  C07: { labels: CLUSTER_IP, section: "service-port" },
  C08: { labels: CLUSTER_IP, section: "service-port" },
  C09: { labels: CLUSTER_IP, section: "service-port" },
  C10: { labels: ["Headless"], section: "service-types" },
  C11: { labels: ["Headless"], section: "clustersetip" },
  C12: { labels: ["ExternalName"], section: "service-types" },
  C13: { labels: [], section: "headlessness" },
  C14: { labels: [], section: "exporting-services" },
  C15: { labels: ["ExportedLabels"], section: "labels-and-annotations" },
  C16: { labels: ["ExportedLabels"], section: "labels-and-annotations" },
  C17: { labels: SLICES, section: "using-endpointslice-objects-to-track-endpoints" },
  C18: { labels: CONNECTIONS, section: "exporting-services" },
  C19: { labels: CONNECTIONS, section: "exporting-services" },
  C20: { labels: [...CONNECTIONS, "StrictPortConflict"], section: "service-port" },
  C21: { labels: CONNECTIONS, section: "service-port" },
  C22: { labels: NAMES, section: "dns" },
  C23: { labels: NAMES, section: "dns" },
  C24: { labels: NAMES, section: "dns" },
  C25: { labels: HEADLESS_NAMES, section: "dns" },
  C26: { labels: HEADLESS_NAMES, section: "dns" },
  C27: { labels: HEADLESS_NAMES, section: "dns" },
};
