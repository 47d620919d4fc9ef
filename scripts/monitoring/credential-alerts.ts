import { type Alert, IN_CLUSTER } from "./alert.ts";

/** Seconds before the end of a credential that a user replaces. */
const SOON = 7 * 86_400;
/** Seconds before the end of a token that is replaced by itself: the kubelet does so after four fifths of at least an hour. */
const LATE = 300;

const WHOSE =
  "{{ $labels.job }}" +
  IN_CLUSTER +
  "{{ with $labels.member }}, for the registry of cluster {{ . }},{{ end }}";

/** The credentials of controllers and agents that end in less than `seconds`. */
function ending(matcher: string, seconds: number): string {
  const left = (program: string, labels: string): string =>
    `min by (${labels}) (clusterset_${program}_credential_expiry_timestamp_seconds{${matcher}} - time()) < ${seconds}`;
  return `${left("controller", "cluster, job, server, member, credential")} or ${left("agent", "cluster, job, credential")}`;
}

/** Alerts about credentials that end. */
export const CREDENTIAL_ALERTS: readonly Alert[] = [
  {
    alert: "ClustersetCredentialExpiring",
    expr: ending('credential!="token-file"', SOON),
    for: "5m",
    severity: "warning",
    summary: "A token or certificate expires within a week.",
    description: `The {{ $labels.credential }} of ${WHOSE} expires in {{ $value | humanizeDuration }}. After that the API server rejects it: a peer whose registry cannot be read becomes stale.`,
    runbook: "docs/guides/mesh-or-hub.md#add-or-remove-a-cluster-rotate-a-token",
  },
  {
    alert: "ClustersetTokenNotReplaced",
    expr: ending('credential="token-file"', LATE),
    for: "2m",
    severity: "critical",
    summary: "The kubelet does not replace a pod's token.",
    description: `The token of ${WHOSE} expires in {{ $value | humanizeDuration }}, and should have been replaced. After that the API server rejects it: nothing changes any more.`,
    runbook: "docs/guides/monitoring.md#a-token-is-not-replaced",
  },
];
