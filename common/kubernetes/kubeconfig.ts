import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { parse } from "yaml";
import { CodedError } from "../errors.ts";
import { field, textField } from "./json.ts";

/** A kubeconfig that was read, and what client-node leaves out of it. */
export interface LoadedConfig {
  readonly config: KubeConfig;
  /** A file that holds the user's token, and may be replaced at any time. */
  readonly tokenFile: string | undefined;
}

/**
 * Reads a kubeconfig file, or what a pod is given of its service account. client-node knows the format, the ways
 * to authenticate and in-cluster configuration; it is large, and loaded only here. Throws CSP_KUBECONFIG.
 */
export async function loadKubeconfig(path: string | undefined): Promise<LoadedConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  const loaded = path === undefined ? inCluster(config) : fromFile(config, path);
  const where = path ?? "The service account";
  if (config.getCurrentCluster() === null) {
    throw new CodedError("CSP_KUBECONFIG", `${where}: the current context names no cluster`);
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
  return { config, tokenFile: textField(field(provider, "config"), "tokenFile") };
}

function fromFile(config: KubeConfig, path: string): LoadedConfig {
  try {
    const text = readFileSync(path, "utf8");
    config.loadFromString(text);
    config.makePathsAbsolute(dirname(path));
    const file = tokenFileOf(parse(text), config.getCurrentUser()?.name);
    return { config, tokenFile: file === undefined ? undefined : resolve(dirname(path), file) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("CSP_KUBECONFIG", `${path}: ${why}`, { cause });
  }
}

/** `tokenFile` of a user of a kubeconfig (client-go: it counts before `token`), which client-node does not know. */
function tokenFileOf(document: unknown, user: string | undefined): string | undefined {
  const users = field(document, "users");
  if (!Array.isArray(users)) return undefined;
  const entry: unknown = users.find((one) => textField(one, "name") === user);
  return textField(field(entry, "user"), "tokenFile");
}
