import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { isClusterId, isLabelName } from "../api/names.ts";
import { durationOf } from "../api/parse/time-span.ts";
import { CodedError } from "../common/errors.ts";
import { OUTPUTS } from "./output/printable.ts";

/** The names in `a,b`. */
export function listed(value: string, before: readonly string[] = []): readonly string[] {
  const names = value.split(",").filter((name) => name !== "");
  // As from an unset variable of a script: nothing named is not everything.
  if (names.length === 0) throw new InvalidArgumentError("Expected names, separated by commas.");
  return [...before, ...names];
}

/** The values of `--context` as they are given: only the kubeconfig shows whether a comma belongs to a name (`contextsIn`). */
export function contextValues(value: string, before: readonly string[] = []): readonly string[] {
  listed(value);
  return [...before, value];
}

/** Adds the flags that name clusters (`ClusterFlags`). */
export function withClusterFlags(command: Command): Command {
  command
    .option(
      "--context <names>",
      "contexts of the kubeconfig, separated by commas, one for each cluster; may be repeated; default: the current one",
      contextValues,
    )
    .addOption(new Option("--all-contexts", "all contexts of the kubeconfig").conflicts("context"));
  return withConnectionFlags(command);
}

/** Adds the flags about requests (`ConnectionFlags`). */
export function withConnectionFlags(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "default: $KUBECONFIG, else ~/.kube/config")
    .option(
      "--request-timeout <length>",
      "for each answer of an API server, such as 5s; default: 30s",
      requestTimeout,
    );
}

/** As kubectl has it: a number is one of seconds, and 0 is the default. */
function requestTimeout(value: string): number {
  const milliseconds = /^\d{1,6}$/.test(value) ? Number(value) * 1000 : durationOf(value);
  if (milliseconds === undefined)
    throw new InvalidArgumentError("Expected a number and s, m, h or d.");
  return milliseconds;
}

/** Kinds of a dry run: by the plugin alone, or with checks of the API server. */
export const DRY_RUNS = ["client", "server"] as const;

/** `--dry-run`, which is `--dry-run=client` (`withDryRunKinds`). */
export function withDryRunFlag(command: Command): Command {
  const about =
    "print what would change, and change nothing; server: the API server checks it, too";
  return command.addOption(new Option("--dry-run [kind]", about).choices(DRY_RUNS));
}

/** Adds the flags that all commands which change clusters have in common (`ChangeFlags`). */
export function withChangeFlags(command: Command): Command {
  return withDryRunFlag(withOutputFlag(command));
}

/** A command line in which each `--dry-run` has its kind, so that it takes no argument for one. As kubectl, `=` is needed, or a kind. */
export function withDryRunKinds(argv: readonly string[]): string[] {
  return argv.flatMap((word, i) => {
    if (word === "--dry-run")
      return DRY_RUNS.some((kind) => kind === argv[i + 1]) ? [] : ["--dry-run=client"];
    const isKind = argv[i - 1] === "--dry-run" && DRY_RUNS.some((kind) => kind === word);
    return [isKind ? `--dry-run=${word}` : word];
  });
}

/** Adds `-o`. */
export function withOutputFlag(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "format of standard output")
      .choices(OUTPUTS)
      .default("table"),
  );
}

/** A cluster ID: one DNS label, or two with a dot between them. */
export function clusterId(value: string): string {
  if (!isClusterId(value)) {
    throw new InvalidArgumentError("Expected a cluster ID, such as cluster-1.");
  }
  return value;
}

/** `--timeout`, or another flag, in milliseconds. `preset`: its default, as a user writes it. */
export function timeoutOption(about: string, preset: string, flag = "--timeout"): Option {
  return new Option(`${flag} <length>`, about).argParser(length).default(length(preset), preset);
}

/** Milliseconds of a length of time such as `90s` or `5m`. */
function length(value: string): number {
  const milliseconds = durationOf(value);
  if (milliseconds === undefined) {
    throw new InvalidArgumentError("Expected a number and s, m, h or d.");
  }
  return milliseconds;
}

/** The name of an object with its namespace. */
export interface ObjectReference {
  readonly namespace: string;
  readonly name: string;
}

/** Parses `shop/web`, or `web` with the namespace that the function returns. */
export function objectReference(value: string, namespace: () => string): ObjectReference {
  const parts = value.split("/");
  const [first = "", second] = parts;
  const found =
    second === undefined
      ? { namespace: namespace(), name: first }
      : { namespace: first, name: second };
  if (parts.length > 2 || !isLabelName(found.namespace) || !isLabelName(found.name)) {
    throw new InvalidArgumentError(`${value}: expected NAMESPACE/NAME, or NAME with -n.`);
  }
  return found;
}

/** The text of a file, or of standard input for `-`. Throws CSP_MANIFESTS_UNREADABLE. */
export function textOf(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("CSP_MANIFESTS_UNREADABLE", `${file}: ${why}`, { cause });
  }
}
