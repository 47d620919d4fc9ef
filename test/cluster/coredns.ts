import { manifest } from "../generators/objects.ts";
import { COREDNS_IMAGE } from "./images.ts";
import { CLUSTER_DNS } from "./node-files.ts";

const LABELS = { "k8s-app": "kube-dns" };
const OWN = { namespace: "kube-system", name: "coredns" };
const PORTS = [
  { name: "dns", port: 53, protocol: "UDP" },
  { name: "dns-tcp", port: 53, protocol: "TCP" },
  { name: "metrics", port: 9153, protocol: "TCP" },
];

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
  const name = "system:coredns";
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name } };
  const ports = PORTS.map((one) => ({ ...one, targetPort: one.port }));
  return [
    { ...manifest("ServiceAccount", "kube-system/coredns") },
    { ...role, kind: "ClusterRole", rules },
    {
      ...{ ...role, kind: "ClusterRoleBinding" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", ...OWN }],
    },
    { ...manifest("ConfigMap", "kube-system/coredns"), data: { Corefile: COREFILE } },
    {
      ...{ apiVersion: "v1", kind: "Service" },
      metadata: { namespace: "kube-system", name: "kube-dns", labels: LABELS },
      spec: { clusterIP: CLUSTER_DNS, selector: LABELS, ports },
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
    ports: PORTS.map(({ port, ...one }) => ({ ...one, containerPort: port })),
    livenessProbe: { ...probe("/health", 8080), initialDelaySeconds: 60, timeoutSeconds: 5 },
    // Tests wait for DNS: it is probed more often than kubeadm's.
    readinessProbe: { ...probe("/ready", 8181), periodSeconds: 1 },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    },
  };
  const configMap = { name: "coredns", items: [{ key: "Corefile", path: "Corefile" }] };
  const pod = {
    priorityClassName: "system-cluster-critical",
    serviceAccountName: "coredns",
    dnsPolicy: "Default",
    containers: [container],
    volumes: [{ name: "config-volume", configMap }],
  };
  const metadata = { labels: LABELS };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { ...OWN, ...metadata } },
    spec: { replicas: 1, selector: { matchLabels: LABELS }, template: { metadata, spec: pod } },
  };
}
