/** A way into a cluster from the machine. */
export interface Entrance {
  /** The name of the context, its cluster and its user. */
  readonly id: string;
  /** Of the loopback. */
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
}

/** The text of a kubeconfig with a context for each cluster; the first one is the current one. It names no file. */
export function kubeconfigOf(entrances: readonly Entrance[]): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: entrances.map(({ id, port, ca }) => ({
      name: id,
      cluster: {
        server: `https://127.0.0.1:${port}`,
        "certificate-authority-data": Buffer.from(ca).toString("base64"),
        // It was not made for the loopback.
        "tls-server-name": "kubernetes",
      },
    })),
    users: entrances.map(({ id, token }) => ({ name: id, user: { token } })),
    contexts: entrances.map(({ id }) => ({ name: id, context: { cluster: id, user: id } })),
    "current-context": entrances[0]?.id,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
