import type { Duplex } from "node:stream";
import { CLI_NAME } from "../../api/keys.ts";
import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import type { KubeconfigFiles } from "../../common/kubernetes/kubeconfig-files.ts";
import { listServed } from "../../common/kubernetes/list-pages.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource-query.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import { type Page, readPage } from "./page.ts";
import { forwardedPort, type PodPort } from "./port-forward.ts";
import { proxiedPage } from "./proxied-page.ts";

/** Milliseconds of a page, from the first connection to its last byte: slow networks and busy nodes need seconds. */
const PAGE_MS = 15_000;

/** Timeout of a read or write of one object, in milliseconds: admission webhooks may take ten seconds each. */
const REQUEST_MS = 30_000;

/** Options of `openCluster`. */
export interface ClusterOptions {
  readonly kubeconfig: KubeconfigFiles & { readonly context: string };
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends all requests. */
  readonly signal: AbortSignal;
}

/** Which CAs a kubeconfig trusts. */
export interface Authority {
  /** False with `insecure-skip-tls-verify`. */
  readonly isVerified: boolean;
  /** PEM in base64; absent: the CAs of Node. */
  readonly ca?: string;
}

/** A cluster under a context of the kubeconfig. All methods reject with an ApiFault. */
export interface Cluster {
  readonly context: string;
  /** URL of its API server. */
  readonly address: string;
  /** Requests that are not about objects. */
  readonly api: ApiServer;
  /** Reads and writes of single objects. */
  readonly objects: ApiWriter;
  /** How the kubeconfig has the server's certificate checked. */
  authority(): Promise<Authority>;
  /** The objects of a query; empty if it is optional and its resource is not served. */
  list(query: ResourceQuery): Promise<readonly unknown[]>;
  /** A connection to a port of a pod, which the caller ends. */
  connect(port: PodPort, signal: AbortSignal): Promise<Duplex>;
  /** A page that a program serves in its pod. */
  page(port: PodPort, path: string): Promise<Page>;
  close(): Promise<void>;
}

/** Opens a cluster; connects with the first request. Rejects with CSP_KUBECONFIG. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { kubeconfig, clock, log, signal } = options;
  const credentials = await Credentials.load({ kubeconfig, log, clock });
  const api = new HttpApiServer(credentials, `kubectl-clusterset/${VERSION}`, clock);
  return {
    context: kubeconfig.context,
    address: api.address,
    api,
    objects: new ApiWriter({ api, clock, fieldManager: CLI_NAME, within: REQUEST_MS }),
    authority: async () => {
      const { ca, rejectUnauthorized } = (await credentials.access(signal)).tls;
      const pem = typeof ca === "string" || ca instanceof Buffer ? Buffer.from(ca) : undefined;
      const isVerified = rejectUnauthorized !== false;
      return { isVerified, ...(pem !== undefined && { ca: pem.toString("base64") }) };
    },
    list: async (query) => {
      const found: unknown[] = [];
      try {
        await listServed({ api, clock, signal }, query, (object) => found.push(object));
      } catch (thrown) {
        const notServed = thrown instanceof ApiFault && thrown.reason === "not-served";
        if (query.optional !== true || !notServed) throw thrown;
      }
      return found;
    },
    connect: async (port, stop) => forwardedPort(await credentials.access(stop), port, stop),
    page: async (port, path) => {
      const late = new AbortController();
      const cancel = clock.after(PAGE_MS, () =>
        late.abort(new ApiFault("stalled", `No page within ${PAGE_MS / 1000} seconds`)),
      );
      const within = AbortSignal.any([signal, late.signal]);
      try {
        const connection = await forwardedPort(await credentials.access(within), port, within);
        return await readPage(connection, path, within);
      } catch (thrown) {
        within.throwIfAborted();
        if (!(thrown instanceof ApiFault) || thrown.reason !== "unreachable") throw thrown;
        // Nothing listens on the pod's loopback.
        return await proxiedPage(api, port, path, within).catch(() => {
          within.throwIfAborted();
          throw thrown;
        });
      } finally {
        cancel();
      }
    },
    close: () => api.close(),
  };
}
