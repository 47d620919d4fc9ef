import { type Found, type FoundObject, sameName, textsAt } from "./found.ts";
import {
  applying,
  type Finding,
  finding,
  joining,
  type Migration,
  type SourceKind,
} from "./migration.ts";
import {
  annotatedImport,
  keptImport,
  type PREFERENCES,
  selectors,
  serviceExport,
} from "./objects.ts";

/** Each key with its older name (pkg/annotation). */
const GLOBAL = ["service.cilium.io/global", "io.cilium/global-service"] as const;
const SHARED = ["service.cilium.io/shared", "io.cilium/shared-service"] as const;
const AFFINITY = ["service.cilium.io/affinity", "io.cilium/service-affinity"] as const;
const WEIGHT = "service.cilium.io/weight";
/** On ServiceImports: the name of the Service that Cilium derives of them. */
const DERIVED = "multicluster.kubernetes.io/derived-service";
/** On a Namespace. */
const GLOBAL_NAMESPACE = "clustermesh.cilium.io/global";

/** What happens to Cilium's global Services, and to its ServiceImports. PURE. */
export function fromCilium(found: Found): Migration {
  const isDerived = ({ owners }: FoundObject) => owners.includes("ServiceImport");
  return {
    context: found.context,
    findings: [
      ...found.services
        .filter((one) => isOn(annotationOf(one.annotations, GLOBAL)) && !isDerived(one))
        .flatMap((one) => ofGlobal(one, found)),
      ...found.exports.flatMap(ofExport),
      ...found.imports
        .filter(({ annotations }) => annotations.has(DERIVED))
        .map((one) => keptImport(found, one)),
      ...found.services
        .filter(isDerived)
        .map((one) =>
          finding(
            "Service",
            one,
            "left-behind",
            "deleted with Cilium's MCS support and its import",
          ),
        ),
      ...found.slices
        .filter(({ annotations, labels }) => annotations.has(WEIGHT) || labels.has(WEIGHT))
        .map((one) =>
          finding(
            "EndpointSlice",
            one,
            "no-counterpart",
            `${WEIGHT}: weights are those of clusters, in clusterset-proxy.io/cluster-weights`,
          ),
        ),
      ...found.namespaces
        .filter(({ annotations }) => annotations.get(GLOBAL_NAMESPACE) === "false")
        .map((one) =>
          finding(
            "Namespace",
            one,
            "no-counterpart",
            `${GLOBAL_NAMESPACE}: every namespace is part of the clusterset; limit peers by allowed-namespaces`,
          ),
        ),
    ],
  };
}

/** A Service whose own ClusterIP leads to pods of all clusters. */
function ofGlobal(service: FoundObject, { exports, imports }: Found): Finding[] {
  const affinity = affinityOf(service.annotations);
  const policy = selectors(affinity);
  const name = `${service.name}.${service.namespace}.svc.clusterset.local`;
  // Failover slices beside a global Service would add the same pods twice.
  const failover = affinity === "local" ? ", or ClusterIP failover once it is not global" : "";
  const own = finding(
    "Service",
    service,
    "no-counterpart",
    `its own ClusterIP leads to all clusters; here ${name} does${failover}`,
  );
  if (!isOn(annotationOf(service.annotations, SHARED) ?? "true")) {
    const known = sameName(imports, service);
    if (known === undefined) {
      return [
        own,
        finding(
          "Service",
          service,
          "needs-join",
          `not shared: no export; affinity ${affinity} is set on the ServiceImport, once it exists`,
          { step: "policy" },
        ),
      ];
    }
    const made = { step: "policy", manifest: annotatedImport(known, policy) } as const;
    return [
      own,
      finding(
        "Service",
        service,
        "made",
        `not shared: affinity ${affinity} as selectors of the import`,
        made,
      ),
    ];
  }
  if (sameName(exports, service) !== undefined) return [own];
  const made = { step: "export", manifest: serviceExport(service, policy) } as const;
  return [
    own,
    finding("Service", service, "made", `exported; affinity ${affinity} as selectors`, made),
  ];
}

/** An export that passes Cilium's annotations on. */
function ofExport(one: FoundObject): Finding[] {
  const exported = textsAt(one.raw, "spec", "exportedAnnotations");
  if (annotationOf(exported, AFFINITY) === undefined)
    return [finding("ServiceExport", one, "taken-over")];
  const affinity = affinityOf(exported);
  const manifest = serviceExport(one, selectors(affinity));
  return [
    finding("ServiceExport", one, "made", `taken over, with affinity ${affinity} as selectors`, {
      step: "export",
      manifest,
    }),
  ];
}

function affinityOf(annotations: ReadonlyMap<string, string>): keyof typeof PREFERENCES {
  const value = annotationOf(annotations, AFFINITY)?.toLowerCase();
  return value === "local" || value === "remote" ? value : "none";
}

function annotationOf(
  annotations: ReadonlyMap<string, string>,
  keys: readonly string[],
): string | undefined {
  const key = keys.find((one) => annotations.has(one));
  return key === undefined ? undefined : annotations.get(key);
}

function isOn(value: string | undefined): boolean {
  return value?.toLowerCase() === "true";
}

/** Cilium's part in texts. */
export const CILIUM: SourceKind = {
  title: "Cilium ClusterMesh",
  guide: "migrate-cilium.md",
  steps: (contexts, needing) => [
    {
      title:
        "If Cilium serves the MCS API (clustermesh.mcsapi.enabled), turn that off first: both would write the imports. Global Services need nothing: they stay as they are",
      commands: [
        "helm --kube-context CONTEXT upgrade cilium cilium/cilium -n kube-system --reuse-values --set clustermesh.mcsapi.enabled=false",
      ],
    },
    {
      title: "Join. Set socketLB.hostNamespaceOnly first, as the checks of the nodes say",
      commands: joining(contexts),
    },
    { title: "Export what is shared", commands: applying("cilium", needing("export"), "export") },
    {
      title:
        "Run again, now that imports exist: preferences of clusters that do not share, and addresses of imports that Cilium made",
      commands: [
        ...applying("cilium", needing("policy"), "policy"),
        ...applying("cilium", needing("switch"), "switch"),
      ],
    },
    {
      title:
        "Move clients to the name NAME.NAMESPACE.svc.clusterset.local. When none uses the Service for other clusters any more, make it an ordinary one",
      commands: [
        "kubectl --context CONTEXT -n NAMESPACE annotate service NAME service.cilium.io/global- service.cilium.io/shared- service.cilium.io/affinity-",
      ],
    },
  ],
};
