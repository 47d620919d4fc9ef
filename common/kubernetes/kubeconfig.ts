import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { parse } from "yaml";
import { shown } from "../../api/problem.ts";
import type { Clock } from "../clock.ts";
import { CodedError } from "../errors.ts";
import { CredentialPlugin } from "./credential-plugin.ts";
import { field, textField } from "./json.ts";

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
  path: string | undefined,
  clock: Clock,
): Promise<LoadedConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  const loaded = path === undefined ? inCluster(config) : fromFile(config, path, clock);
  const where = path ?? "The service account";
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

/** A user as the file has it: client-node does not know `tokenFile`, which counts before `token` (client-go). */
function userIn(document: unknown, name: string | undefined): unknown {
  const users = field(document, "users");
  if (!Array.isArray(users)) return undefined;
  return field(
    users.find((one) => textField(one, "name") === name),
    "user",
  );
}
