import { isCidr, parseCidr } from "../../api/cidr.ts";
import { shown } from "../../api/problem.ts";
import { systemClock } from "../../common/clock.ts";
import { CodedError, codeOf } from "../../common/errors.ts";
import {
  contextNames,
  contextNamespace,
  kubeconfigFiles,
  type MergedKubeconfig,
  mergedKubeconfig,
  readKubeconfigOnce,
} from "../../common/kubernetes/kubeconfig-files.ts";
import { createLogger } from "../../common/log.ts";
import { isInside } from "../install/ranges.ts";
import { printable, printableLines } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { type Cluster, openCluster, unusableCluster } from "./cluster.ts";
import type { Began } from "./cluster-fault.ts";

/** Flags that name clusters. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  /** Names of contexts, before those of `context`. */
  readonly contexts?: readonly string[];
  /** Values of `--context`, in order; absent, and no `contexts`: the current one. */
  readonly context?: readonly string[];
  readonly allContexts?: boolean;
  /** Milliseconds for each answer of an API server; 0: the default. */
  readonly requestTimeout?: number;
}

/** Milliseconds after which a terminal shows which cluster has not answered yet. */
const PATIENCE_MS = 2000;

/** Opens the clusters of the flags, runs a command on them, and closes them. Rejects with CSP_KUBECONFIG. */
export async function withClusters<Result>(
  flags: ClusterFlags,
  terminal: Terminal,
  run: (clusters: readonly Cluster[]) => Promise<Result>,
): Promise<Result> {
  const files = kubeconfigFiles(flags.kubeconfig, terminal.env.KUBECONFIG, terminal.home);
  const sink = { write: (line: string) => terminal.note(printableLines(line)) };
  const log = createLogger({ level: "warn", format: "pretty" }, sink);
  const { signal } = terminal;
  const clusters: Cluster[] = [];
  try {
    const read = readKubeconfigOnce();
    const contexts = chosen(mergedKubeconfig({ files, read }), flags);
    const proxyFor = (server: string) => environmentProxy(server, terminal.env);
    const { requestTimeout } = flags;
    const limit = requestTimeout ? { requestTimeout } : {};
    for (const context of contexts) {
      const kubeconfig = { files, context, proxyFor, read };
      // A context that is not there is a mistake in writing.
      mergedKubeconfig(kubeconfig);
      const began = waitingNote(context, terminal);
      const opened = openCluster({
        ...{ kubeconfig, clock: systemClock, log, signal, began },
        ...limit,
      });
      clusters.push(
        await opened.catch((thrown: unknown) => {
          if (contexts.length === 1 || codeOf(thrown) !== "CSP_KUBECONFIG") throw thrown;
          const why = thrown instanceof Error ? thrown.message : String(thrown);
          return unusableCluster(context, why, systemClock);
        }),
      );
    }
    return await run(clusters);
  } finally {
    await Promise.all(clusters.map((cluster) => cluster.close()));
  }
}

/** The error for a name that no context has. */
export function noContext(name: string, clusters: readonly Cluster[]): CodedError {
  const names = clusters.map(({ context }) => context).join(", ") || "none";
  return new CodedError("CSP_KUBECONFIG", `No context ${shown(name)}; there are: ${names}`);
}

/** Notes once, on a terminal, that a cluster has not answered for some time. */
function waitingNote(context: string, { note, hasProgress }: Terminal): Began {
  let pending = 0;
  let isSaid = hasProgress !== true;
  let cancel = (): void => undefined;
  return () => {
    if (pending++ === 0 && !isSaid) {
      cancel = systemClock.after(PATIENCE_MS, () => {
        isSaid = true;
        note(printable`waiting for ${context}\n`);
      });
    }
    return () => {
      if (--pending === 0) cancel();
    };
  };
}

/** The current context of the kubeconfig; undefined without one. */
export function currentContext(
  flags: ClusterFlags,
  { env, home }: Pick<Terminal, "env" | "home">,
): string | undefined {
  const files = kubeconfigFiles(flags.kubeconfig, env.KUBECONFIG, home);
  return mergedKubeconfig({ files })["current-context"];
}

/** The namespace of objects that are named without one: `-n`, else that of the contexts. Throws CSP_KUBECONFIG if these have different ones. */
export function namespaceOf(
  flags: ClusterFlags & { readonly namespace?: string },
  { env, home }: Pick<Terminal, "env" | "home">,
): string {
  if (flags.namespace !== undefined) return flags.namespace;
  const files = kubeconfigFiles(flags.kubeconfig, env.KUBECONFIG, home);
  const config = mergedKubeconfig({ files });
  const namespaces = new Map(
    chosen(config, flags).map((name) => [name, contextNamespace(config, name)]),
  );
  const [first = "default", second] = new Set(namespaces.values());
  if (second === undefined) return first;
  const each = [...namespaces].map(([context, namespace]) => `${context}: ${namespace}`).join(", ");
  throw new CodedError(
    "CSP_KUBECONFIG",
    `The contexts have different namespaces (${each}): use NAMESPACE/NAME or -n`,
  );
}

/** The contexts that flags name. */
function chosen(config: MergedKubeconfig, flags: ClusterFlags): readonly string[] {
  if (flags.allContexts === true) return contextNames(config);
  const { contexts = [], context = [] } = flags;
  const named = new Set([...contexts, ...contextsIn(context, contextNames(config))]);
  if (named.size > 0) return [...named];
  const current = config["current-context"];
  if (current === undefined)
    throw new CodedError("CSP_KUBECONFIG", "No current context: set one, or use --context");
  return [current];
}

/** The contexts that values of `--context` name: the one of exactly this name, else several, separated by commas. PURE. */
export function contextsIn(values: readonly string[], known: readonly string[]): string[] {
  return values.flatMap((value) =>
    known.includes(value) ? [value] : value.split(",").filter((name) => name !== ""),
  );
}

/** Variables of the environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an API server by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as kubectl (Go's net/http) reads them; undefined for a direct
 * connection. `server`: URL. PURE.
 */
export function environmentProxy(server: string, env: Environment): string | undefined {
  const url = URL.parse(server);
  if (url === null) return undefined;
  const variable = (name: string) => [env[name], env[name.toLowerCase()]].find(Boolean);
  const proxy = variable(url.protocol === "http:" ? "HTTP_PROXY" : "HTTPS_PROXY");
  if (proxy === undefined || isDirect(url, variable("NO_PROXY") ?? "")) return undefined;
  return /^(https?|socks5h?):\/\//.test(proxy) ? proxy : `http://${proxy}`;
}

function isDirect({ hostname, port, protocol }: URL, excluded: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const address = parseCidr(`${host}/${host.includes(":") ? 128 : 32}`);
  if (host === "localhost" || host.startsWith("127.") || host === "::1") return true;
  const actualPort = port || (protocol === "http:" ? "80" : "443");
  return excluded.split(",").some((text) => {
    const entry = text.trim().toLowerCase();
    if (entry === "") return false;
    if (entry === "*") return true;
    const [, name = entry, onPort] =
      /^\[?([^\]]+?)\]?:(\d+)$/.exec(
        entry.split(":").length > 2 && !entry.startsWith("[") ? "" : entry,
      ) ?? [];
    if (onPort !== undefined && onPort !== actualPort) return false;
    const range = parseCidr(name.includes("/") ? name : `${name}/${name.includes(":") ? 128 : 32}`);
    if (isCidr(range)) return isCidr(address) && isInside(address, range);
    const domain = name.replace(/^\*?\./, "");
    // A dot in front: only names below it.
    return host.endsWith(`.${domain}`) || (domain === name && host === domain);
  });
}
