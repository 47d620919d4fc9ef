import { ANNOTATION_EXPORTED_AT, LABEL_RECORD } from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { cidr } from "./facts.ts";

const NAMESPACE = registryNamespace("c2");
/** The registry of cluster c2, whose endpoints are declared to lie in 10.2.0.0/16. */
export const REGISTRY = {
  cluster: "c2",
  namespace: NAMESPACE,
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  endpointCidrs: [cidr("10.2.0.0/16")],
};

/** What is different in `metadata`, and in the other fields. */
export interface Change {
  readonly namespace?: string;
  readonly name?: string;
  readonly labels?: Fields;
  readonly annotations?: Fields;
  readonly spec?: Fields;
}

/** A valid record of demo/serve, with these changes. */
export function record({ labels, annotations, spec, ...metadata }: Change): unknown {
  return {
    metadata: {
      namespace: NAMESPACE,
      name: "serve.demo",
      labels: { [LABEL_RECORD]: "serve.demo", ...labels },
      annotations: { [ANNOTATION_EXPORTED_AT]: "2026-01-01T00:00:00Z", ...annotations },
      ...metadata,
    },
    spec: {
      type: "ClusterSetIP",
      ipFamilies: ["IPv4"],
      ports: [{ name: "http", port: 80 }],
      ...spec,
    },
  };
}

/** A slice of that record; `spec`: its fields. */
export function slice({ labels, spec, ...metadata }: Change): unknown {
  return {
    metadata: {
      namespace: NAMESPACE,
      name: "serve.demo.v4-0",
      labels: { [LABEL_RECORD]: "serve.demo", ...labels },
      ...metadata,
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [{ addresses: ["10.2.0.1"] }],
    ...spec,
  };
}

/** The Lease of that cluster. */
export function lease({ labels, spec, ...metadata }: Change): unknown {
  return {
    metadata: { namespace: NAMESPACE, name: "cluster", labels: { ...labels }, ...metadata },
    spec: {
      holderIdentity: "u1",
      leaseDurationSeconds: 30,
      renewTime: "2026-01-01T00:00:00.000000Z",
      ...spec,
    },
  };
}
