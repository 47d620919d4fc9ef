import { ANNOTATION_IMPORT, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from "../../api/keys.ts";
import { type Found, sameName } from "./found.ts";
import {
  applying,
  finding,
  inEach,
  joining,
  type Migration,
  type SourceKind,
} from "./migration.ts";
import { serviceExport } from "./objects.ts";

/** What happens to imports that a person wrote, and to slices that a person copied. PURE. */
export function fromByHand(found: Found): Migration {
  const imports = found.imports.filter(
    ({ annotations }) => annotations.get(ANNOTATION_IMPORT) !== "created",
  );
  const copies = found.slices.filter(
    ({ labels }) => labels.has(LABEL_SERVICE_NAME) && !labels.has(LABEL_MANAGED_BY),
  );
  const exported = imports.flatMap((one) => {
    const service = sameName(found.services, one);
    if (service === undefined || sameName(found.exports, one) !== undefined) return [];
    return [
      finding("Service", service, "made", "exported", {
        step: "export",
        manifest: serviceExport(service),
      }),
    ];
  });
  return {
    context: found.context,
    findings: [
      ...imports.map((one) =>
        finding(
          "ServiceImport",
          one,
          "taken-over",
          "with its address, while exports exist and afterwards",
        ),
      ),
      ...exported,
      ...copies.map((one) =>
        finding(
          "EndpointSlice",
          one,
          "left-behind",
          "follows no change; delete it when the controllers' slices are there",
        ),
      ),
    ],
  };
}

/** The part of hand-made objects in texts. */
export const BY_HAND: SourceKind = {
  title: "imports by hand",
  guide: "migrate-by-hand.md",
  steps: (contexts, needing) => [
    {
      title:
        "Join. Imports keep their addresses: allow those outside the ClusterSet CIDR with --explicit-vip-cidrs, on agents and controllers",
      commands: joining(contexts),
    },
    {
      title:
        "Export the Services of the same names: the imports are adopted, and get slices that follow the pods",
      commands: applying("by-hand", needing("export"), "export"),
    },
    {
      title: "Wait for the controllers' slices of all clusters, then delete the copies",
      commands: [
        inEach(
          contexts,
          `kubectl --context "$c" get endpointslices -A -l ${LABEL_SERVICE_NAME},${LABEL_MANAGED_BY}=clusterset-controller`,
        ),
        inEach(
          contexts,
          `kubectl --context "$c" delete endpointslices -A -l '${LABEL_SERVICE_NAME},!${LABEL_MANAGED_BY}'`,
        ),
      ],
    },
  ],
};
