const RBAC = "rbac.authorization.k8s.io";
const MCS = "multicluster.x-k8s.io";
const DISCOVERY = "discovery.k8s.io";
const COORDINATION = "coordination.k8s.io";
const READ = ["list", "watch"];
/** Server-side apply asks for both, where it may have to create. `get`: to look again after a conflict. */
const APPLY = ["get", "create", "patch"];
const WRITE = [...APPLY, "delete"];

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What the controller does in its own cluster, and nothing else. `namespace`: where its own objects are. */
export function controllerRights(user: string, namespace: string): object[] {
  return [
    ...granted(user, [
      { apiGroups: [""], resources: ["namespaces", "services", "nodes"], verbs: READ },
      { apiGroups: ["networking.k8s.io"], resources: ["servicecidrs"], verbs: READ },
      { apiGroups: [DISCOVERY], resources: ["endpointslices"], verbs: [...READ, ...WRITE] },
      { apiGroups: [MCS], resources: ["serviceimports"], verbs: [...READ, ...WRITE] },
      { apiGroups: [MCS], resources: ["serviceimports/status"], verbs: ["patch"] },
      { apiGroups: [MCS], resources: ["serviceexports"], verbs: [...READ, "get"] },
      { apiGroups: [MCS], resources: ["serviceexports/status"], verbs: ["patch"] },
      {
        apiGroups: ["about.k8s.io"],
        resources: ["clusterproperties"],
        verbs: [...READ, "create"],
      },
      { apiGroups: [""], resources: ["events"], verbs: ["create"] },
    ]),
    ...granted(
      user,
      [
        { apiGroups: [""], resources: ["secrets"], verbs: READ },
        {
          apiGroups: [COORDINATION],
          resources: ["leases"],
          verbs: ["get", "create", "update"],
        },
      ],
      namespace,
    ),
    ...granted(
      user,
      [
        {
          apiGroups: [COORDINATION],
          resources: ["leases"],
          resourceNames: ["kube-controller-manager"],
          verbs: READ,
        },
      ],
      "kube-system",
    ),
  ];
}

/** What a cluster does in its own registry. */
export function publisherRights(user: string, namespace: string): object[] {
  return granted(
    user,
    [
      { apiGroups: [MCS], resources: ["serviceimports"], verbs: [...READ, ...WRITE] },
      { apiGroups: [DISCOVERY], resources: ["endpointslices"], verbs: [...READ, ...WRITE] },
      {
        apiGroups: [COORDINATION],
        resources: ["leases"],
        verbs: [...READ, ...APPLY],
      },
    ],
    namespace,
  );
}

/** What a cluster does in the registry of another. */
export function readerRights(user: string, namespace: string): object[] {
  return granted(
    user,
    [
      { apiGroups: [MCS], resources: ["serviceimports"], verbs: READ },
      { apiGroups: [DISCOVERY], resources: ["endpointslices"], verbs: READ },
      { apiGroups: [COORDINATION], resources: ["leases"], verbs: READ },
    ],
    namespace,
  );
}

/** On a hub: who is a member. */
export function memberRights(user: string): object[] {
  return granted(user, [{ apiGroups: [""], resources: ["namespaces"], verbs: READ }]);
}

/** A role and its binding, in a namespace if one is named. */
function granted(user: string, rules: readonly Rule[], namespace?: string): object[] {
  const where = namespace === undefined ? "Cluster" : "";
  const metadata = { name: `clusterset-${user}`, ...(namespace !== undefined && { namespace }) };
  const apiVersion = `${RBAC}/v1`;
  return [
    { apiVersion, kind: `${where}Role`, metadata, rules },
    {
      apiVersion,
      kind: `${where}RoleBinding`,
      metadata,
      subjects: [{ kind: "User", apiGroup: RBAC, name: user }],
      roleRef: { kind: `${where}Role`, apiGroup: RBAC, name: metadata.name },
    },
  ];
}
