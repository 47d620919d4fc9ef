const RBAC = "rbac.authorization.k8s.io";
const VERBS = ["list", "watch"];

/** The objects that let a user do what the agent does, and nothing else (agent/sources/kubernetes/README.md). */
export function agentRights(user: string): readonly [role: object, binding: ClusterRoleBinding] {
  const role = {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: user },
    rules: [
      { apiGroups: ["multicluster.x-k8s.io"], resources: ["serviceimports"], verbs: VERBS },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: VERBS },
      { apiGroups: [""], resources: ["nodes"], verbs: VERBS },
      { apiGroups: ["about.k8s.io"], resources: ["clusterproperties"], verbs: VERBS },
    ],
  };
  const binding = {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: user },
    subjects: [{ kind: "User", apiGroup: RBAC, name: user }],
    roleRef: { kind: "ClusterRole", apiGroup: RBAC, name: user },
  };
  return [role, binding];
}

interface ClusterRoleBinding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}
