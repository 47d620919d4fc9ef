import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from "../../api/keys.ts";
import type { Found, FoundObject } from "./found.ts";
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

const LIGHTHOUSE = "lighthouse-agent.submariner.io";
/** On its own records of exports, and on slices; on the broker's imports an annotation. */
const SOURCE_NAMESPACE = "lighthouse.submariner.io/sourceNamespace";
const CLUSTERSET_IP = "lighthouse.submariner.io/use-clusterset-ip";
const GLOBALNET = "submariner-globalnet";

/** What happens to what Lighthouse has written. PURE. */
export function fromSubmariner(found: Found): Migration {
  const { context } = found;
  const globalnet = found.workloads.find(({ name }) => name === GLOBALNET);
  if (globalnet !== undefined) {
    const detail = "give the clusters ranges that do not overlap first";
    return { context, findings: [finding("DaemonSet", globalnet, "translated-addresses", detail)] };
  }
  const findings: Finding[] = found.exports.flatMap((one) => {
    const taken = finding("ServiceExport", one, "taken-over");
    if (one.annotations.get(CLUSTERSET_IP) !== "false") return [taken];
    return [
      taken,
      finding(
        "ServiceExport",
        one,
        "no-counterpart",
        `${CLUSTERSET_IP}: every import has a ClusterSetIP here`,
      ),
    ];
  });
  for (const one of found.imports) {
    findings.push(
      isRecord(one)
        ? finding("ServiceImport", one, "left-behind", "Lighthouse's record of an export")
        : keptImport(found, one),
    );
  }
  for (const one of found.slices) {
    if (one.labels.get(LABEL_MANAGED_BY) !== LIGHTHOUSE) continue;
    findings.push(
      finding(
        "EndpointSlice",
        one,
        "left-behind",
        "the ClusterIP of its cluster; pods take its place",
      ),
    );
  }
  return { context, findings };
}

function isRecord({ labels, annotations }: FoundObject): boolean {
  return (
    labels.has(SOURCE_NAMESPACE) ||
    (annotations.has(SOURCE_NAMESPACE) && annotations.has(LABEL_SERVICE_NAME))
  );
}

const OPERATORS = "submariner-operator";

/** Submariner's part in texts. */
export const SUBMARINER: SourceKind = {
  title: "Submariner Lighthouse",
  guide: "migrate-submariner.md",
  steps: (contexts, needing) => [
    {
      title:
        "Stop Lighthouse's agents, and before them the operator, which would start them again: both would write the imports, also those of the broker. Its DNS servers answer as before, but follow no change from here on",
      commands: [
        inEach(
          contexts,
          `kubectl --context "$c" -n ${OPERATORS} scale deployment submariner-operator --replicas=0`,
        ),
        inEach(
          contexts,
          `kubectl --context "$c" -n ${OPERATORS} scale deployment submariner-lighthouse-agent --replicas=0`,
        ),
      ],
    },
    {
      title:
        "Join. Exports are published again at once, with pods in place of ClusterIPs; Submariner's gateways still carry what goes to other clusters",
      commands: joining(contexts),
    },
    {
      title: "Give imports with an address of Submariner one of the ClusterSet CIDR",
      commands: applying("submariner", needing("switch"), "switch"),
    },
    {
      title:
        "Let the cluster's DNS answer for clusterset.local: take Lighthouse's block (forward to submariner-lighthouse-coredns) out of the Corefile and put ours in, in one edit",
      commands: [
        inEach(contexts, 'kubectl --context "$c" -n kube-system edit configmap coredns'),
        "deploy/coredns/names add CONTEXT",
      ],
    },
    {
      title:
        "Remove service discovery from Submariner. Its uninstaller deletes all ServiceImports of the cluster; the controller writes its own again at once, with the same addresses",
      commands: [
        inEach(
          contexts,
          `kubectl --context "$c" -n ${OPERATORS} patch submariner submariner --type merge -p '{"spec":{"serviceDiscoveryEnabled":false}}'`,
        ),
        inEach(
          contexts,
          `kubectl --context "$c" -n ${OPERATORS} scale deployment submariner-operator --replicas=1`,
        ),
        inEach(
          contexts,
          `kubectl --context "$c" delete endpointslices -A -l ${LABEL_MANAGED_BY}=${LIGHTHOUSE}`,
        ),
      ],
    },
  ],
};
