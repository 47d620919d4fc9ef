import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { field, textField } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import type { Clock } from "../clock.ts";
import { CodedError } from "../errors.ts";
import { CredentialPlugin } from "./credential-plugin.ts";
import { type InlineKubeconfig, restricted } from "./inline-kubeconfig.ts";
import { type KubeconfigFiles, mergedKubeconfig, parsedKubeconfig } from "./kubeconfig-files.ts";

/** The path of a kubeconfig file, files as kubectl merges them, an inline one, or undefined for the service account of the pod. */
export type KubeconfigOrigin = string | KubeconfigFiles | InlineKubeconfig | undefined;

/** A kubeconfig, and the parts that client-node does not support. */
export interface LoadedConfig {
  readonly config: KubeConfig;
  /** The user's token file, which may be replaced at any time. */
  readonly tokenFile: string | undefined;
  /** The user's credential plugin. */
  readonly plugin: CredentialPlugin | undefined;
}

/** Names of `auth-provider` that client-go removed in 1.26 for `exec`; the one for OIDC is still there. */
const REMOVED_PROVIDERS = ["gcp", "azure"];

/** Reads a kubeconfig or the pod's service account. Imports client-node, which is large, lazily. Throws CSP_KUBECONFIG. */
export async function loadKubeconfig(
  origin: KubeconfigOrigin,
  clock: Clock,
): Promise<LoadedConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  const loaded = load(config, origin, clock);
  const where = nameOf(origin);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw invalid(where, "the context names no cluster that is there");
  if (!/^https?:$/.test(URL.parse(cluster.server)?.protocol ?? "")) {
    throw invalid(where, `${shown(cluster.server)} is not an http or https URL`);
  }
  const user = config.getCurrentUser();
  if (user === null) throw invalid(where, "the context names no user that is there");
  const provider = textField(user.authProvider, "name") ?? "";
  if (REMOVED_PROVIDERS.includes(provider))
    throw invalid(
      where,
      `auth-provider ${provider} is not in kubectl 1.26 and newer either: use exec`,
    );
  config.clusters = config.clusters.map((one) => ({
    ...one,
    // client-node rejects http URLs unless TLS certificates are not verified, and there are none.
    ...(URL.parse(one.server)?.protocol === "http:" && { skipTLSVerify: true }),
    // The proxy resolves names, as for Go.
    ...(one.proxyUrl !== undefined && { proxyUrl: one.proxyUrl.replace(/^socks5:/, "socks5h:") }),
  }));
  return loaded;
}

function load(config: KubeConfig, origin: KubeconfigOrigin, clock: Clock): LoadedConfig {
  if (origin === undefined) return inCluster(config);
  if (typeof origin === "string") return fromFile(config, origin, clock);
  return "files" in origin ? fromFiles(config, origin, clock) : fromText(config, origin);
}

function nameOf(origin: KubeconfigOrigin): string {
  if (origin === undefined) return "The service account";
  if (typeof origin === "string") return origin;
  return "files" in origin ? origin.files.join(", ") : origin.from;
}

function inCluster(config: KubeConfig): LoadedConfig {
  if ((process.env.KUBERNETES_SERVICE_HOST ?? "") === "") {
    throw new CodedError(
      "CSP_KUBECONFIG",
      "Not in a pod (KUBERNETES_SERVICE_HOST is not set): --kubeconfig must name a file",
    );
  }
  config.loadFromCluster();
  const provider: unknown = config.getCurrentUser()?.authProvider;
  const tokenFile = textField(field(provider, "config"), "tokenFile");
  return { config, tokenFile, plugin: undefined };
}

function fromFile(config: KubeConfig, path: string, clock: Clock): LoadedConfig {
  try {
    return fromDocument(config, parsedKubeconfig(readFileSync(path, "utf8")), dirname(path), clock);
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function fromFiles(config: KubeConfig, origin: KubeconfigFiles, clock: Clock): LoadedConfig {
  const document = mergedKubeconfig(origin);
  try {
    // Its paths are absolute.
    const loaded = fromDocument(config, document, "/", clock);
    config.clusters = config.clusters.map((one) => {
      const proxyUrl = one.proxyUrl ?? origin.proxyFor?.(one.server);
      return proxyUrl === undefined ? one : { ...one, proxyUrl };
    });
    return loaded;
  } catch (cause) {
    throw invalid(nameOf(origin), cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** `directory`: base of relative paths. */
function fromDocument(
  config: KubeConfig,
  document: unknown,
  directory: string,
  clock: Clock,
): LoadedConfig {
  config.loadFromString(JSON.stringify(document));
  config.makePathsAbsolute(directory);
  const user = userIn(document, config.getCurrentUser()?.name);
  const tokenFile = textField(user, "tokenFile");
  const exec = field(user, "exec") ?? undefined;
  config.users = config.users.map(({ exec: _ours, ...rest }) => rest);
  return {
    config,
    tokenFile: tokenFile === undefined ? undefined : resolve(directory, tokenFile),
    plugin: exec === undefined ? undefined : new CredentialPlugin(exec, directory, clock),
  };
}

function fromText(config: KubeConfig, inline: InlineKubeconfig): LoadedConfig {
  try {
    config.loadFromString(restricted(inline));
  } catch (cause) {
    throw invalid(inline.from, cause instanceof Error ? cause.message : String(cause));
  }
  return { config, tokenFile: undefined, plugin: undefined };
}

/** A user of the file: client-node does not support `tokenFile`, which takes precedence over `token` (client-go). */
function userIn(document: unknown, name: string | undefined): unknown {
  const users = field(document, "users");
  if (!Array.isArray(users)) return undefined;
  return field(
    users.find((one) => textField(one, "name") === name),
    "user",
  );
}

function invalid(where: string, why: string, cause?: unknown): CodedError {
  return new CodedError("CSP_KUBECONFIG", `${where}: ${why}`, { cause });
}
