import { LABEL_MANAGED_BY, LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { fieldAt, isFields } from "../../api/parse/fields.ts";
import type { Found, FoundObject } from "./found.ts";
import { sameName } from "./found.ts";
import {
  applying,
  type Finding,
  finding,
  joining,
  type Migration,
  type SourceKind,
} from "./migration.ts";
import { alias, serviceExport } from "./objects.ts";

/** Names of the Services that Karmada derives of ServiceImports begin so (pkg/util/names). */
const DERIVED = "derived-";
/** Manager of the slices that a MultiClusterService copies to the Service of the same name. */
const DISPATCHER = "endpointslice-dispatch-controller.karmada.io";

/** What happens to what Karmada has propagated to a member cluster. PURE. */
export function fromKarmada(found: Found): Migration {
  const findings: Finding[] = found.exports.map((one) =>
    finding("ServiceExport", one, "taken-over"),
  );
  for (const one of found.imports) {
    const derived = sameName(found.services, { ...one, name: DERIVED + one.name });
    findings.push(
      finding(
        "ServiceImport",
        one,
        "taken-over",
        "Karmada writes over it until its template is released",
      ),
    );
    if (derived !== undefined) findings.push(ofDerived(derived, one));
  }
  const copied = new Map<string, FoundObject>();
  for (const slice of found.slices) {
    if (slice.labels.get(LABEL_MANAGED_BY) !== DISPATCHER) continue;
    findings.push(
      finding(
        "EndpointSlice",
        slice,
        "left-behind",
        "Karmada deletes it with the MultiClusterService",
      ),
    );
    const name = slice.labels.get(LABEL_SERVICE_SLICE) ?? "";
    const service = sameName(found.services, { ...slice, name });
    if (service !== undefined) copied.set(`${service.namespace}/${name}`, service);
  }
  for (const service of copied.values()) findings.push(...ofNative(service, found));
  return { context: found.context, findings };
}

function ofDerived(derived: FoundObject, one: FoundObject): Finding {
  if (fieldAt(derived.raw, "spec", "type") === "ExternalName") {
    return finding(
      "Service",
      derived,
      "left-behind",
      "already leads here; delete it when no client uses the name",
    );
  }
  const manifest = alias(derived, one);
  return finding("Service", derived, "made", "an alias of the same name, step alias", {
    step: "alias",
    manifest,
  });
}

/** A Service to which Karmada adds endpoints of other clusters, under its own name. */
function ofNative(service: FoundObject, { exports }: Found): Finding[] {
  const own = finding(
    "Service",
    service,
    "no-counterpart",
    "other clusters share all traffic of its ClusterIP; here of the name in clusterset.local, or by ClusterIP failover",
  );
  const selector = fieldAt(service.raw, "spec", "selector");
  if (!isFields(selector) || sameName(exports, service) !== undefined) return [own];
  return [
    own,
    finding("Service", service, "made", "exported", {
      step: "export",
      manifest: serviceExport(service),
    }),
  ];
}

/** Karmada's part in texts. */
export const KARMADA: SourceKind = {
  title: "Karmada",
  guide: "migrate-karmada.md",
  steps: (contexts, needing) => [
    {
      title:
        "Join the member clusters. Services derived-… and their slices stay as they are: kube-proxy serves them, and agents do not look at them",
      commands: joining(contexts),
    },
    {
      title: "Export Services of a MultiClusterService, if there are any",
      commands: applying("karmada", needing("export"), "export"),
    },
    {
      title:
        "Let Karmada release the ServiceExports and ServiceImports without deleting them in the members: otherwise both write the imports. For each policy that propagates them, and its templates, in Karmada's control plane",
      commands: [
        'kubectl --context KARMADA -n NAMESPACE patch propagationpolicy POLICY --type merge -p \'{"spec":{"preserveResourcesOnDeletion":true}}\'',
        "kubectl --context KARMADA -n NAMESPACE delete serviceimport,serviceexport NAME",
      ],
    },
    {
      title:
        "Wait until every import has an address and clusters, then let the old names lead here. Clients that keep the address of derived-… must look it up again",
      commands: applying("karmada", needing("alias"), "alias"),
    },
    {
      title: "When no client uses the old name any more, delete the aliases",
      commands: ["kubectl --context CONTEXT -n NAMESPACE delete service derived-NAME"],
    },
  ],
};
