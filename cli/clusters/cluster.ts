import type { Duplex } from "node:stream";
import { inSeconds } from "../../api/count.ts";
import { CLI_NAME } from "../../api/keys.ts";
import { field, textField } from "../../api/parse/fields.ts";
import type { Clock } from "../../common/clock.ts";
import { ApiFault, reasonOfStatus } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import type { KubeconfigFiles } from "../../common/kubernetes/kubeconfig-files.ts";
import { listServed } from "../../common/kubernetes/list-pages.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import { type Began, ClusterFault, naming } from "./cluster-fault.ts";
import { forwardedPort, MOST_BYTES, type Page, type PodPort, readPage } from "./port-forward.ts";

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
  /** Milliseconds for each answer; absent: each kind of request has its own limit. */
  readonly requestTimeout?: number;
  readonly began: Began;
}

/** Which CAs a kubeconfig trusts. */
export interface Authority {
  /** False with `insecure-skip-tls-verify`. */
  readonly isVerified: boolean;
  /** PEM in base64; absent: the CAs of Node. */
  readonly ca?: string;
}

/** A cluster under a context of the kubeconfig. All methods reject with a ClusterFault. */
export interface Cluster {
  readonly context: string;
  /** URL of its API server. */
  readonly address: string;
  /** Requests that are not about objects. */
  readonly api: ApiServer;
  /** Reads and writes of single objects. Rejects with a ClusterFault. */
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
  const { kubeconfig, clock, log, signal, requestTimeout, began } = options;
  const credentials = await Credentials.load({
    ...{ kubeconfig, log, clock },
    ...(requestTimeout !== undefined && { within: requestTimeout }),
  });
  const api = new HttpApiServer(
    credentials,
    `kubectl-clusterset/${VERSION}`,
    clock,
    requestTimeout,
  );
  const name = { context: kubeconfig.context, address: api.address };
  const within = requestTimeout ?? REQUEST_MS;
  const pageMs = requestTimeout ?? PAGE_MS;
  const writer = new ApiWriter({ api, clock, fieldManager: CLI_NAME, within });
  const cluster: Cluster = {
    ...name,
    api: naming<ApiServer>(api, name, began),
    objects: naming(writer, name, began),
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
      const cancel = clock.after(pageMs, () =>
        late.abort(new ApiFault("stalled", `No page within ${inSeconds(pageMs)}`)),
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
  return naming(cluster, name, began);
}

/** A cluster of a context that cannot be used: each request fails, and says why. */
export function unusableCluster(context: string, why: string, clock: Clock): Cluster {
  const name = { context, address: "kubeconfig" };
  const fail = () => Promise.reject(new ClusterFault(name, new ApiFault("no-credentials", why)));
  const api: ApiServer = {
    ...{ address: name.address, recovery: new Recovery(), request: fail },
    close: () => Promise.resolve(),
  };
  const objects = new ApiWriter({ api, clock, fieldManager: CLI_NAME });
  return {
    ...name,
    api,
    objects,
    authority: fail,
    list: fail,
    connect: fail,
    page: fail,
    close: () => Promise.resolve(),
  };
}

/** Milliseconds without data in a page. */
const SILENCE_MS = 15_000;

/**
 * A page by the API server's proxy, which connects to the pod's address: for agents that serve their pages on the node's address, where
 * a port-forward finds nothing (deploy/components/metrics). Rejects with an ApiFault.
 */
export async function proxiedPage(
  api: ApiServer,
  { namespace, pod, port }: PodPort,
  path: string,
  signal: AbortSignal,
): Promise<Page> {
  const pods = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const target = `${pods}/${encodeURIComponent(pod)}:${port}/proxy${path}`;
  const response = await api.request({ path: target, signal, silence: SILENCE_MS });
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    parts.push(part);
    length += part.length;
    if (length > MOST_BYTES) throw new ApiFault("garbage", "The page is too long");
  }
  const text = Buffer.concat(parts).toString("utf8");
  const own = ownStatus(text);
  if (own !== undefined) {
    const message = `pods/proxy: HTTP ${response.status}: ${textField(own, "message") ?? ""}`;
    throw new ApiFault(reasonOfStatus(response.status), message);
  }
  return { status: response.status, text };
}

/** The API server's own answer, if it is one: no page of a program has such an object. */
function ownStatus(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return field(value, "kind") === "Status" ? value : undefined;
  } catch {
    return undefined;
  }
}
