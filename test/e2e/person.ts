import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import type { Clusters } from "../cluster/clusters.ts";
import { commandPath } from "../cluster/commands.ts";

const ROOT = `${import.meta.dirname}/../..`;

/** Longer than anything in a guide takes on a machine that does other things, too. */
const PATIENCE_MS = 300_000;

/**
 * Runs commands as a user would paste them into a shell, in the top folder of the repository and with the kubeconfig of the
 * clusters. Stops at the first command that fails, and then throws with all output. Returns the output.
 */
export async function paste(clusters: Clusters, commands: string): Promise<string> {
  const shell = spawn("bash", ["-e", "-u", "-o", "pipefail"], {
    ...atDesk(clusters),
    timeout: PATIENCE_MS,
  });
  shell.stdin.end(commands);
  const [out, errors] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, "close"),
  ]);
  if (shell.exitCode !== 0) throw new Error(`exit code ${shell.exitCode}\n${out}\n${errors}`);
  return out;
}

/** Where a person is: in the top folder of the repository, with kubectl, its plugin and the kubeconfig of the clusters. */
export function atDesk({ kubeconfig }: Clusters): { cwd: string; env: NodeJS.ProcessEnv } {
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: `${dirname(kubeconfig)}/kubectl-cache`,
    PATH: `${dirname(commandPath("kubectl"))}:${ROOT}/bin:${process.env.PATH}`,
  };
  return { cwd: ROOT, env };
}
