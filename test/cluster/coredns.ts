import { COREDNS_IMAGE } from "./images.ts";
import { CLUSTER_DNS } from "./node-files.ts";

const LABELS = { "k8s-app": "kube-dns" };
const OWN = { namespace: "kube-system", name: "coredns" };

/** It serves the cluster's names, and no others: there is no upstream server. */
const COREFILE = `.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus :9153
    cache 30
    loop
    reload
    loadbalance
}
`;

/** CoreDNS as kubeadm installs it: same names, labels and rights; one replica. */
export function corednsObjects(): object[] {
  const rules = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"] },
  ].map((rule) => ({ ...rule, verbs: ["list", "watch"] }));
  const role = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole" };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: OWN },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "system:coredns" },
      rules,
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "system:coredns" },
      roleRef: { ...role, name: "system:coredns" },
      subjects: [{ kind: "ServiceAccount", ...OWN }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: OWN, data: { Corefile: COREFILE } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "kube-system", name: "kube-dns", labels: LABELS },
      spec: {
        clusterIP: CLUSTER_DNS,
        selector: LABELS,
        ports: [
          { name: "dns", port: 53, protocol: "UDP", targetPort: 53 },
          { name: "dns-tcp", port: 53, protocol: "TCP", targetPort: 53 },
          { name: "metrics", port: 9153, protocol: "TCP", targetPort: 9153 },
        ],
      },
    },
    deployment(),
  ];
}

function deployment(): object {
  const probe = (path: string, port: number) => ({ httpGet: { path, port, scheme: "HTTP" } });
  const container = {
    name: "coredns",
    image: COREDNS_IMAGE,
    imagePullPolicy: "Never",
    args: ["-conf", "/etc/coredns/Corefile"],
    volumeMounts: [{ name: "config-volume", mountPath: "/etc/coredns", readOnly: true }],
    ports: [
      { name: "dns", containerPort: 53, protocol: "UDP" },
      { name: "dns-tcp", containerPort: 53, protocol: "TCP" },
      { name: "metrics", containerPort: 9153, protocol: "TCP" },
    ],
    livenessProbe: { ...probe("/health", 8080), initialDelaySeconds: 60, timeoutSeconds: 5 },
    // Tests wait for DNS: it is probed more often than kubeadm's.
    readinessProbe: { ...probe("/ready", 8181), periodSeconds: 1 },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    },
  };
  const items = [{ key: "Corefile", path: "Corefile" }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...OWN, labels: LABELS },
    spec: {
      replicas: 1,
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: LABELS },
        spec: {
          priorityClassName: "system-cluster-critical",
          serviceAccountName: "coredns",
          dnsPolicy: "Default",
          containers: [container],
          volumes: [{ name: "config-volume", configMap: { name: "coredns", items } }],
        },
      },
    },
  };
}
