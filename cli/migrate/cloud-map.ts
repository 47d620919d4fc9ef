import { LABEL_MANAGED_BY, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { type Found, sameName } from "./found.ts";
import {
  applying,
  type Finding,
  finding,
  inEach,
  joining,
  type Migration,
  type SourceKind,
} from "./migration.ts";
import { keptImport } from "./objects.ts";

/** On its ServiceImports: the Services derived of them, as JSON; before release 0.3 one name. */
const DERIVED = "multicluster.k8s.aws/derived-service";
const FINALIZER = "multicluster.k8s.aws/service-export-finalizer";
const MANAGER = "aws-cloud-map-mcs-controller-for-k8s";
/** The name of `PROPERTY_CLUSTER_ID` in earlier texts of KEP-2149. */
const OLD_ID = "id.k8s.io";

/** What happens to what the Cloud Map MCS controller has written. PURE. */
export function fromCloudMap(found: Found): Migration {
  return {
    context: found.context,
    findings: [
      ...found.properties.flatMap((one) => ofProperty(one, found)),
      ...found.exports.map((one) => {
        const finalizers = fieldAt(one.raw, "metadata", "finalizers");
        const isHeld = Array.isArray(finalizers) && finalizers.includes(FINALIZER);
        const detail = isHeld
          ? "without its controller it cannot be deleted until the finalizer is removed"
          : undefined;
        return finding("ServiceExport", one, "taken-over", detail);
      }),
      ...found.imports
        .filter(({ annotations }) => annotations.has(DERIVED))
        .map((one) => keptImport(found, one)),
      ...found.services
        .filter(
          ({ name, owners }) => name.startsWith("imported-") && owners.includes("ServiceImport"),
        )
        .map((one) =>
          finding(
            "Service",
            one,
            "left-behind",
            "and its slices; clients that know its ClusterIP use it",
          ),
        ),
      ...found.slices
        .filter(({ labels }) => labels.get(LABEL_MANAGED_BY) === MANAGER)
        .map((one) => finding("EndpointSlice", one, "left-behind", "deleted with its Service")),
    ],
  };
}

function ofProperty(one: Found["properties"][number], { properties }: Found): Finding[] {
  if (one.name !== OLD_ID) return [finding("ClusterProperty", one, "taken-over")];
  if (sameName(properties, { namespace: "", name: PROPERTY_CLUSTER_ID }) !== undefined) {
    return [finding("ClusterProperty", one, "left-behind")];
  }
  const value = textField(fieldAt(one.raw, "spec"), "value");
  const manifest = {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: PROPERTY_CLUSTER_ID },
    spec: { value },
  };
  return [
    finding("ClusterProperty", one, "made", PROPERTY_CLUSTER_ID, { step: "identity", manifest }),
  ];
}

const ITS_NAMESPACE = "cloud-map-mcs-system";

/** Cloud Map's part in texts. */
export const CLOUD_MAP: SourceKind = {
  title: "AWS Cloud Map MCS",
  guide: "migrate-cloud-map.md",
  steps: (contexts, needing) => [
    {
      title: "Give each cluster its ID under its present name, where it has only id.k8s.io",
      commands: applying("cloudmap", needing("identity"), "identity"),
    },
    {
      title:
        "Join. Imports keep their addresses, which are those of Services imported-…: clients notice nothing, and status says vip-not-allowed",
      commands: joining(contexts),
    },
    {
      title:
        "Stop the Cloud Map controllers, which would write their addresses again. From here on Services imported-… follow no change",
      commands: [
        inEach(
          contexts,
          `kubectl --context "$c" -n ${ITS_NAMESPACE} scale deployment cloud-map-mcs-controller-manager --replicas=0`,
        ),
      ],
    },
    {
      title: "Give the imports addresses of the ClusterSet CIDR, each in one write",
      commands: applying("cloudmap", needing("switch"), "switch"),
    },
    {
      title:
        "When no client uses the old addresses any more (DNS answers and long connections), delete what is left behind, and the finalizers",
      commands: [
        inEach(
          contexts,
          'kubectl --context "$c" delete services -A -l multicluster.kubernetes.io/source-cluster,multicluster.kubernetes.io/service-name',
        ),
        `kubectl --context CONTEXT -n NAMESPACE patch serviceexport NAME --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`,
      ],
    },
  ],
};
