import { existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { parse, YAMLParseError } from "yaml";
import { field, isFields, textField } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import { CodedError } from "../errors.ts";

/** Kubeconfig files, merged as kubectl does, and the context to use. */
export interface KubeconfigFiles {
  /** In order of precedence. */
  readonly files: readonly string[];
  /** Default: the current context. */
  readonly context?: string;
  /** The proxy for a server without a `proxy-url`; absent, or undefined for a server: none. */
  readonly proxyFor?: (server: string) => string | undefined;
  /** Default: `readKubeconfig`. */
  readonly read?: ReadKubeconfig;
}

/** The content of a kubeconfig file. Throws CSP_KUBECONFIG, which names the file. */
export type ReadKubeconfig = (file: string) => unknown;

/** Kubeconfig files as one: in each list, the first entry of a name counts. All paths in it are absolute. */
export interface MergedKubeconfig {
  readonly clusters: readonly unknown[];
  readonly users: readonly unknown[];
  readonly contexts: readonly unknown[];
  readonly "current-context"?: string;
}

/** Fields with paths, in the `cluster` and `user` of an entry. */
const PATHS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** The files that kubectl would read: `--kubeconfig`, else those of KUBECONFIG that exist (all, if none does: reading them names them), else `~/.kube/config`. */
export function kubeconfigFiles(
  flag: string | undefined,
  variable: string | undefined,
  home: string,
): string[] {
  if (flag !== undefined) return [flag];
  const listed = (variable ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length === 0) return [join(home, ".kube", "config")];
  const existing = listed.filter((file) => existsSync(file));
  return existing.length > 0 ? existing : listed;
}

/**
 * Reads and merges kubeconfig files: all entries, or those of `context`, so that an invalid entry concerns its own context only. Throws
 * CSP_KUBECONFIG, which names the file.
 */
export function mergedKubeconfig({
  files,
  context,
  read = readKubeconfig,
}: KubeconfigFiles): MergedKubeconfig {
  const documents = files.map((file) => ({ document: read(file), directory: dirname(file) }));
  const merged = (list: string, part: string): unknown[] => {
    const entries = new Map<string, unknown>();
    for (const { document, directory } of documents) {
      const value = field(document, list);
      for (const entry of Array.isArray(value) ? value : []) {
        const name = textField(entry, "name") ?? "";
        if (!entries.has(name)) entries.set(name, withAbsolutePaths(entry, part, directory));
      }
    }
    return [...entries.values()];
  };
  const preset = documents
    .map(({ document }) => textField(document, "current-context") ?? "")
    .find((name) => name !== "");
  const contexts = merged("contexts", "context");
  const current = context ?? preset;
  if (context !== undefined && !namesOf(contexts).includes(context)) {
    throw new CodedError(
      "CSP_KUBECONFIG",
      `No context ${shown(context)} in ${files.join(", ")}: it has ${namesOf(contexts).join(", ") || "none"}`,
    );
  }
  const all = { clusters: merged("clusters", "cluster"), users: merged("users", "user"), contexts };
  const chosen = context === undefined ? all : entriesOf(context, all);
  return { ...chosen, ...(current !== undefined && { "current-context": current }) };
}

/** The entries that one context names. */
function entriesOf(context: string, { clusters, users, contexts }: MergedKubeconfig) {
  const named = (entries: readonly unknown[], name: string | undefined) =>
    entries.filter((entry) => textField(entry, "name") === name);
  const own = named(contexts, context);
  const names = field(own[0], "context");
  return {
    clusters: named(clusters, textField(names, "cluster") ?? ""),
    users: named(users, textField(names, "user") ?? ""),
    contexts: own,
  };
}

/** The names of all contexts. */
export function contextNames({ contexts }: MergedKubeconfig): string[] {
  return namesOf(contexts);
}

/** The namespace of a context, as kubectl reads it. */
export function contextNamespace({ contexts }: MergedKubeconfig, name: string): string {
  const entry = contexts.find((one) => textField(one, "name") === name);
  return textField(field(entry, "context"), "namespace") || "default";
}

function namesOf(contexts: readonly unknown[]): string[] {
  return contexts.flatMap((entry) => textField(entry, "name") ?? []);
}

/** The content of a kubeconfig as it is now. */
export function readKubeconfig(file: string): unknown {
  try {
    return parsedKubeconfig(readFileSync(file, "utf8"));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("CSP_KUBECONFIG", `${file}: ${why}`, { cause });
  }
}

/** Reads each state of a file once: many contexts of one large file are opened one after the other. */
export function readKubeconfigOnce(): ReadKubeconfig {
  const read = new Map<string, { readonly version: string; readonly content: unknown }>();
  return (file) => {
    const version = fileVersion(file);
    const known = read.get(file);
    if (known?.version === version) return known.content;
    const content = readKubeconfig(file);
    read.set(file, { version, content });
    return content;
  };
}

/** Identifies a state of a file, also a missing one. */
export function fileVersion(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

/** Parses a kubeconfig. Throws an Error that quotes no text, which holds credentials. PURE. */
export function parsedKubeconfig(text: string): unknown {
  try {
    return parse(text);
  } catch (thrown) {
    const [at] = thrown instanceof YAMLParseError ? (thrown.linePos ?? []) : [];
    throw new Error(at === undefined ? "not YAML" : `not YAML: line ${at.line}, column ${at.col}`);
  }
}

function withAbsolutePaths(entry: unknown, part: string, directory: string): unknown {
  const value = field(entry, part);
  if (!isFields(entry) || !isFields(value)) return entry;
  const paths = PATHS.flatMap((name) => {
    const path = textField(value, name);
    return path === undefined || path === "" ? [] : [[name, resolve(directory, path)]];
  });
  const exec = withAbsoluteCommand(field(value, "exec"), directory);
  return {
    ...entry,
    [part]: { ...value, ...Object.fromEntries(paths), ...(isFields(exec) && { exec }) },
  };
}

/** As client-go: a command with a slash is relative to its file, another one is searched for in PATH. */
function withAbsoluteCommand(exec: unknown, directory: string): unknown {
  const command = textField(exec, "command");
  if (!isFields(exec) || command === undefined || !command.includes("/")) return exec;
  return isAbsolute(command) ? exec : { ...exec, command: resolve(directory, command) };
}
