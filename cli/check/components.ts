import { type CheckedCluster, type Outcome, ok, warning } from "./finding.ts";

/** A component that a cluster needs. */
interface Need {
  readonly component: string;
  /** Components that contain it. */
  readonly orOneOf: readonly string[];
  /** Why, as a sentence; undefined: it is not needed. */
  readonly why: (cluster: CheckedCluster) => string | undefined;
}

/** With which agents have CAP_NET_RAW. */
const WITH_NET_RAW = ["net-raw", "k3s", "rke2", "openshift", "privileged"];

/** In order: a platform's component contains what its network plugin needs. */
const NEEDS: readonly Need[] = [
  {
    component: "openshift",
    orOneOf: [],
    why: ({ platform, facts }) =>
      platform.product === "openshift" || facts.dns.kind === "openshift"
        ? "OpenShift admits agents by constraints of their own."
        : undefined,
  },
  {
    component: "eks",
    orOneOf: [],
    why: ({ platform: { product, nodes } }) =>
      product === "eks" && nodes.some(({ isServerless }) => isServerless)
        ? "On Fargate, pods of agents stay pending."
        : undefined,
  },
  {
    component: "net-raw",
    orOneOf: WITH_NET_RAW,
    why: ({ platform: { plugins, proxy } }) => {
      const plugin = plugins.find(({ hasIpsets }) => hasIpsets);
      const writer = plugin?.name ?? (proxy === "ipvs" ? "kube-proxy in ipvs mode" : undefined);
      return writer === undefined
        ? undefined
        : `Rules of ${writer} name ipsets, and agents need CAP_NET_RAW to list them.`;
    },
  },
];

/** Components that a cluster needs and does not have. PURE. */
export function componentProblems(cluster: CheckedCluster): Outcome[] {
  const present = cluster.member?.components ?? cluster.facts.components;
  const found = NEEDS.flatMap(({ component, orOneOf, why }) => {
    const reason = why(cluster);
    const has = [component, ...orOneOf].some((name) => present.includes(name));
    if (reason === undefined || has) return [];
    const flags = [...present, component].map((name) => `--component ${cluster.context}=${name}`);
    return [warning(reason, `Give ${flags.join(" ")}.`)];
  });
  return found.length > 0 ? found : [ok(present.join(", ") || "none needed")];
}
