import { lintSource } from "@secretlint/core";
import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import { LABEL_RECORD, LABEL_REGISTRY, LABEL_SERVICE_NAME } from "../../api/keys.ts";
import { field, textField } from "../../api/parse/fields.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import {
  CLUSTER_PROPERTIES,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  NAMESPACES,
  NODES,
  PODS,
  queryOf,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
} from "../../common/kubernetes/kinds.ts";
import { requestBody } from "../../common/kubernetes/request-body.ts";
import { listPath, type ResourceQuery } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { inCluster } from "../clusters/cluster-fault.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { PROGRAMS, type Program, type ProgramPod, pageOf, podsOf } from "../programs/pods.ts";
import { LEFT_OUT, objectWithoutSecrets, textWithoutSecrets } from "./without-secrets.ts";

/** A file of a bundle, or why it could not be had. */
export interface BundleFile {
  /** Below the folder of its context. */
  readonly path: string;
  readonly text: string;
  /** Present if it could not be read. */
  readonly fault?: string;
}

/** What is collected. */
export interface BundleOptions {
  /** The most agents of a cluster; those that are not ready first. */
  readonly mostAgents: number;
  /** Lines of each log; 0: no logs. */
  readonly logLines: number;
  /** True: annotations and labels of users, and Events of other programs, without what looks like a secret. */
  readonly withFreeText: boolean;
}

/** Options of one context. */
export interface ContextOptions extends BundleOptions {
  /** Pods that are read at the same time: their pages and logs are in memory. */
  readonly podsAtOnce: number;
}

/** Characters of a file that are kept, and bytes of a log: a plan of 1,000 imports has 5 MB. */
const LONGEST_FILE = 8 * 1024 * 1024;
/** Milliseconds without data in a log. */
const SILENCE_MS = 15_000;
/** Faults of an API server that has not answered, or that cannot be asked. */
const UNANSWERED: readonly FaultReason[] = ["unreachable", "stalled", "no-credentials"];

const core = (resource: string): ResourceQuery => ({ group: "", versions: ["v1"], resource });
const LEASES: ResourceQuery = {
  group: "coordination.k8s.io",
  versions: ["v1"],
  resource: "leases",
};

/** Objects, by the name of their file. Never Secrets or ConfigMaps. */
const OBJECTS: Readonly<Record<string, ResourceQuery>> = {
  serviceexports: queryOf(SERVICE_EXPORTS, { optional: true }),
  serviceimports: queryOf(SERVICE_IMPORTS, { optional: true }),
  endpointslices: queryOf(ENDPOINT_SLICES, { labelSelector: LABEL_SERVICE_NAME }),
  records: queryOf(ENDPOINT_SLICES, { labelSelector: LABEL_RECORD }),
  clusterproperties: queryOf(CLUSTER_PROPERTIES, { optional: true }),
  ipaddresses: queryOf(IP_ADDRESSES, {
    optional: true,
    labelSelector: "ipaddress.kubernetes.io/managed-by=clusterset-controller",
  }),
  registries: queryOf(NAMESPACES, { labelSelector: LABEL_REGISTRY }),
  nodes: queryOf(NODES),
  daemonsets: queryOf(DAEMON_SETS, { namespace: INSTALL_NAMESPACE }),
  deployments: queryOf(DEPLOYMENTS, { namespace: INSTALL_NAMESPACE }),
  pods: queryOf(PODS, { namespace: INSTALL_NAMESPACE }),
  events: { ...core("events"), namespace: INSTALL_NAMESPACE },
  leases: { ...LEASES, namespace: INSTALL_NAMESPACE },
};

/** A list of one object, which even a slow API server answers soon. Unlike the version, it needs etcd. */
const CHEAP = listPath(queryOf(PODS, { namespace: INSTALL_NAMESPACE }), "v1", { limit: 1 });

/** Pages of each program. */
const PAGES: Readonly<Record<Program, Readonly<Record<string, string>>>> = {
  agent: {
    "readyz.txt": "/readyz?verbose",
    "metrics.txt": "/metrics",
    "status.json": "/status",
    "plan.json": "/plan",
  },
  controller: {
    "readyz.txt": "/readyz?verbose",
    "metrics.txt": "/metrics",
    "debug.json": "/debug",
  },
};

/** The requests to one API server. Once it does not answer, the rest of them have the same fault, and are not sent: each would wait for its whole timeout. */
class Answers {
  readonly #isSlowOnly: () => Promise<boolean>;
  #fault: ApiFault | undefined;

  /** `cheap`: a request that is answered unless the server answers nothing. */
  constructor(cheap: () => Promise<unknown>) {
    this.#isSlowOnly = () =>
      cheap().then(
        () => true,
        (thrown: unknown) => !isUnanswered(thrown),
      );
  }

  /** Rejects as `read` does. `decides`: without an answer to it, nothing else is asked. */
  async of<Answer>(read: () => Promise<Answer>, decides = false): Promise<Answer> {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      return await read();
    } catch (thrown) {
      // The largest lists come one after the other, and may all be too slow: how many of them are says nothing.
      if (isUnanswered(thrown) && (decides || !(await this.#isSlowOnly()))) this.#fault = thrown;
      throw thrown;
    }
  }
}

function isUnanswered(thrown: unknown): thrown is ApiFault {
  return thrown instanceof ApiFault && UNANSWERED.includes(thrown.reason);
}

/**
 * Collects the files of one context, without secrets. The first is the version: a context whose API server does not answer this is not
 * asked for the others. Rejects with the reason of the signal only.
 */
export async function* collect(
  cluster: Cluster,
  options: ContextOptions,
  signal: AbortSignal,
): AsyncGenerator<BundleFile> {
  const file = async (path: string, read: () => Promise<string>): Promise<BundleFile> => {
    try {
      return { path, text: await withoutKnownTokens(await read()) };
    } catch (thrown) {
      signal.throwIfAborted();
      const fault =
        thrown instanceof ApiFault ? `${thrown.reason}: ${thrown.message}` : String(thrown);
      return { path, text: "", fault: textWithoutSecrets(await withoutKnownTokens(fault)) };
    }
  };
  const answers = new Answers(() => textOf(cluster, CHEAP, signal));
  const list = (query: ResourceQuery) => answers.of(() => cluster.list(query));
  yield file("version.json", () => answers.of(() => textOf(cluster, "/version", signal), true));
  for (const [name, query] of Object.entries(OBJECTS)) {
    yield file(`objects/${name}.json`, async () => objectsText(await list(query), options));
  }
  for (const namespace of await registries(list, signal)) {
    yield file(`objects/leases-${namespace}.json`, async () =>
      objectsText(await list({ ...LEASES, namespace }), options),
    );
  }
  for (const program of Object.keys(PROGRAMS) as Program[]) {
    const pods = await answers
      .of(() => podsOf(cluster, program))
      .catch((): ProgramPod[] => {
        signal.throwIfAborted();
        return [];
      });
    const chosen = pods
      .toSorted((a, b) => Number(a.ready) - Number(b.ready))
      .slice(0, program === "agent" ? options.mostAgents : pods.length);
    for (let at = 0; at < chosen.length; at += options.podsAtOnce) {
      const some = chosen
        .slice(at, at + options.podsAtOnce)
        .map((pod) =>
          Promise.all([
            ...pagesOf(cluster, pod, file),
            ...logsOf(cluster, pod, options, file, signal),
          ]),
        );
      for (const files of await Promise.all(some)) yield* files;
    }
  }
}

type ToFile = (path: string, read: () => Promise<string>) => Promise<BundleFile>;

function* pagesOf(cluster: Cluster, pod: ProgramPod, file: ToFile) {
  for (const [name, path] of Object.entries(PAGES[pod.program])) {
    yield file(`pages/${pod.name}/${name}`, async () =>
      bounded(textWithoutSecrets(await pageOf(cluster, pod, path))),
    );
  }
}

function* logsOf(
  cluster: Cluster,
  { program, name }: ProgramPod,
  { logLines }: BundleOptions,
  file: ToFile,
  signal: AbortSignal,
) {
  if (logLines === 0) return;
  for (const previous of [false, true]) {
    const query = new URLSearchParams({
      container: program,
      timestamps: "true",
      tailLines: String(logLines),
      limitBytes: String(LONGEST_FILE),
      ...(previous && { previous: "true" }),
    });
    const path = `/api/v1/namespaces/${INSTALL_NAMESPACE}/pods/${encodeURIComponent(name)}/log?${query.toString()}`;
    yield file(`logs/${name}${previous ? ".previous" : ""}.log`, async () =>
      textWithoutSecrets(await textOf(cluster, path, signal)),
    );
  }
}

function objectsText(found: readonly unknown[], { withFreeText }: BundleOptions): string {
  const objects = found.map((one) => objectWithoutSecrets(one, withFreeText));
  // One object a line, for grep.
  const text = objects.map((one) => JSON.stringify(one)).join(",\n");
  return bounded(`{"items":[\n${text}\n]}\n`);
}

function bounded(text: string): string {
  if (text.length <= LONGEST_FILE) return text;
  return `${text.slice(0, LONGEST_FILE)}\n(cut after ${LONGEST_FILE} characters)\n`;
}

/** Namespaces of registries on this API server; none if they cannot be listed, which their own file says. */
async function registries(list: Cluster["list"], signal: AbortSignal): Promise<string[]> {
  try {
    const found = await list(queryOf(NAMESPACES, { labelSelector: LABEL_REGISTRY }));
    return found.flatMap((one) => textField(field(one, "metadata"), "name") ?? []);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

async function textOf(cluster: Cluster, path: string, signal: AbortSignal): Promise<string> {
  const body = await inCluster(cluster, () =>
    requestBody(cluster.api, { path, signal, silence: SILENCE_MS }),
  );
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length > LONGEST_FILE) break;
  }
  return Buffer.concat(parts).subarray(0, LONGEST_FILE).toString("utf8");
}

/** By it, a text could switch the other rules off. */
const BY_COMMENTS = "@secretlint/secretlint-rule-filter-comments";

/** secretlint's recommended rules: formats of the tokens and keys of some thirty products, which others maintain. */
const RULES = rules
  .filter(({ meta }) => meta.id !== BY_COMMENTS)
  .map((rule) => ({ id: rule.meta.id, rule, options: { enableIDScanRule: true } }));

/** End of a token: some rules report only a part of it. */
const END_OF_TOKEN = /[\s"'\\,;}]|$/g;

/** A text without the tokens and keys of known products. Rejects if a rule fails: a text that was not checked is in no bundle. */
export async function withoutKnownTokens(text: string): Promise<string> {
  const { messages } = await lintSource({
    source: { filePath: "bundle.txt", content: text, contentType: "text" },
    options: { config: { rules: RULES }, noPhysicFilePath: true },
  });
  let kept = "";
  let at = 0;
  for (const { range } of messages.toSorted((a, b) => a.range[0] - b.range[0])) {
    END_OF_TOKEN.lastIndex = range[1];
    const end = END_OF_TOKEN.exec(text)?.index ?? text.length;
    if (end <= at) continue;
    if (range[0] >= at) kept += `${text.slice(at, range[0])}${LEFT_OUT}`;
    at = end;
  }
  return kept + text.slice(at);
}
