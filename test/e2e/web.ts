/** The lab's own server, behind a Service of a namespace that the clusterset shares. */
export interface Web {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  /** Lines of YAML that go into the container. */
  readonly container?: string;
}

/** Commands: the namespace, what runs the pods, and a Service of port 80. They may be repeated; the pods are available after them. */
function applied(
  { cluster, namespace, name }: Web,
  kind: "Deployment" | "DaemonSet",
  pod: string,
  port: string,
): string {
  return `kubectl --context ${cluster} apply -f - <<'END'
apiVersion: v1
kind: Namespace
metadata: { name: ${namespace} }
---
apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
${pod}
---
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  selector: { app: ${name} }
  ports: [{ ${port} }]
END
kubectl --context ${cluster} -n ${namespace} rollout status --timeout=120s ${kind.toLowerCase()}/${name}`;
}

/**
 * Commands: a Deployment of one pod. Readiness allows for a node whose processors are busy: where every pod of the only other cluster is
 * unready, connections to a dead one have nowhere to go.
 */
export function web(of: Web): string {
  const pod = `      containers:
        - name: serve
          image: lab.local/probe:1
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, timeoutSeconds: 10 }
${of.container ?? ""}`;
  return applied(of, "Deployment", pod, "name: http, port: 80, targetPort: 8080");
}

/** Commands: exports a Service, and waits until all know of it. */
export function exported({ cluster, namespace, name }: Web): string {
  return `kubectl --context ${cluster} -n ${namespace} apply -f - <<'END'
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: ${name} }
END
kubectl --context ${cluster} -n ${namespace} wait --for=condition=Ready --timeout=60s serviceexport/${name}`;
}

/** Commands: one pod on each node, or only on one, which answers with its node's name. */
export function onEveryNode({ only, ...of }: Web & { only?: string }): string {
  const pod = `      nodeSelector: ${only === undefined ? "{}" : `{ kubernetes.io/hostname: ${only} }`}
      containers:
        - name: serve
          image: clusterset-serve:0.2.0
          args: [--name, $(NODE_NAME)]
          env: [{ name: NODE_NAME, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }]
          readinessProbe: { httpGet: { port: 8080, path: /healthz }, periodSeconds: 1, timeoutSeconds: 10 }`;
  return applied(of, "DaemonSet", pod, "port: 80, targetPort: 8080");
}
