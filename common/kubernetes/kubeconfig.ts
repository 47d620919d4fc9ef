import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { parse } from "yaml";
import { shown } from "../../api/problem.ts";
import type { Clock } from "../clock.ts";
import { CodedError } from "../errors.ts";
import { CredentialPlugin } from "./credential-plugin.ts";
import { field, textField } from "./json.ts";

/**
 * A kubeconfig that came as text, from somebody who must not read our files or run programs as us: a Secret, say.
 * It holds all that it needs, and names neither file nor program.
 */
export interface InlineKubeconfig {
  readonly text: string;
  /** Where it came from, for people. */
  readonly from: string;
}

/** The path of a kubeconfig file, one that came as text, or, undefined, the service account of the pod. */
export type KubeconfigOrigin = string | InlineKubeconfig | undefined;

/** A kubeconfig that was read, and what client-node leaves out of it. */
export interface LoadedConfig {
  readonly config: KubeConfig;
  /** A file that holds the user's token, and may be replaced at any time. */
  readonly tokenFile: string | undefined;
  /** The program that gives the user's credentials. */
  readonly plugin: CredentialPlugin | undefined;
}

/**
 * Reads a kubeconfig file, or what a pod is given of its service account. client-node knows the format, the ways
 * to authenticate and in-cluster configuration; it is large, and loaded only here. Throws CSP_KUBECONFIG.
 */
export async function loadKubeconfig(
  origin: KubeconfigOrigin,
  clock: Clock,
): Promise<LoadedConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  const loaded = load(config, origin, clock);
  const where = typeof origin === "string" ? origin : (origin?.from ?? "The service account");
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new CodedError("CSP_KUBECONFIG", `${where}: the current context names no cluster`);
  }
  if (!/^https?:$/.test(URL.parse(cluster.server)?.protocol ?? "")) {
    const message = `${where}: ${shown(cluster.server)} is no http or https address of a server`;
    throw new CodedError("CSP_KUBECONFIG", message);
  }
  if (config.getCurrentUser() === null) {
    throw new CodedError("CSP_KUBECONFIG", `${where}: the current context names no user`);
  }
  return loaded;
}

function load(config: KubeConfig, origin: KubeconfigOrigin, clock: Clock): LoadedConfig {
  if (origin === undefined) return inCluster(config);
  return typeof origin === "string" ? fromFile(config, origin, clock) : fromText(config, origin);
}

function inCluster(config: KubeConfig): LoadedConfig {
  if ((process.env.KUBERNETES_SERVICE_HOST ?? "") === "") {
    throw new CodedError(
      "CSP_KUBECONFIG",
      "Not in a pod (KUBERNETES_SERVICE_HOST is not set): --kubeconfig has to name a file",
    );
  }
  config.loadFromCluster();
  const provider: unknown = config.getCurrentUser()?.authProvider;
  const tokenFile = textField(field(provider, "config"), "tokenFile");
  return { config, tokenFile, plugin: undefined };
}

function fromFile(config: KubeConfig, path: string, clock: Clock): LoadedConfig {
  try {
    const text = readFileSync(path, "utf8");
    const directory = dirname(path);
    config.loadFromString(text);
    config.makePathsAbsolute(directory);
    const user = userIn(parse(text), config.getCurrentUser()?.name);
    const tokenFile = textField(user, "tokenFile");
    const exec = field(user, "exec") ?? undefined;
    config.users = config.users.map(({ exec: _ours, ...rest }) => rest);
    return {
      config,
      tokenFile: tokenFile === undefined ? undefined : resolve(directory, tokenFile),
      plugin: exec === undefined ? undefined : new CredentialPlugin(exec, directory, clock),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("CSP_KUBECONFIG", `${path}: ${why}`, { cause });
  }
}

function fromText(config: KubeConfig, { text, from }: InlineKubeconfig): LoadedConfig {
  const refuse = (why: string) => new CodedError("CSP_KUBECONFIG", `${from}: ${why}`);
  try {
    config.loadFromString(text);
  } catch {
    // Parsers quote what they cannot read, and this holds a token.
    throw refuse("not a kubeconfig");
  }
  // Looked for in what client-node has made of it, and will go by: another parser may read another thing.
  const reaching = [
    ...config.clusters.map(({ caFile }) => caFile),
    ...config.users.flatMap((user) => [user.certFile, user.keyFile, user.exec, user.authProvider]),
  ];
  if (reaching.some((one) => (one ?? "") !== "")) throw refuse("it names a file or a program");
  return { config, tokenFile: undefined, plugin: undefined };
}

/** A user as the file has it: client-node does not know `tokenFile`, which counts before `token` (client-go). */
function userIn(document: unknown, name: string | undefined): unknown {
  const users = field(document, "users");
  if (!Array.isArray(users)) return undefined;
  return field(
    users.find((one) => textField(one, "name") === name),
    "user",
  );
}
