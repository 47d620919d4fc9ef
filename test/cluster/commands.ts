import { execFileSync } from "node:child_process";

/** What test/kubernetes/build builds for a cluster. */
export const COMMANDS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
  "coredns",
] as const;
export type Command = (typeof COMMANDS)[number];

const BUILD = new URL("../kubernetes/build", import.meta.url).pathname;

let paths: ReadonlyMap<string, string> | undefined;

/** Where a command is. The first time, builds all that are not there yet, which takes minutes. */
export function commandPath(name: Command): string {
  if (paths === undefined) {
    const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
    const lines = execFileSync(BUILD, [...COMMANDS], { encoding: "utf8", stdio }).trim();
    paths = new Map(lines.split("\n").map((path, i) => [COMMANDS[i] ?? "", path]));
  }
  const path = paths.get(name);
  if (path === undefined) throw new Error(`test/kubernetes/build does not know ${name}`);
  return path;
}
