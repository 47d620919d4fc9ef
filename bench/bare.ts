import { execFile } from "node:child_process";
import type { Argv } from "../agent/system/program-result.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import type { MeasuredBackend } from "./backends.ts";

/** Milliseconds that a tool may take. */
const PATIENCE = 120_000;

/** Runs a tool to its end, started for this text alone; returns the milliseconds. `within`: a command that starts it elsewhere. */
export function bareRun(tool: Argv, text: string, within: readonly string[] = []): Promise<number> {
  const [program = "", ...args] = [...within, ...tool];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const began = performance.now();
  const child = execFile(program, args, { timeout: PATIENCE }, (error, _stdout, stderr) => {
    if (error === null) resolve(performance.now() - began);
    else reject(new Error(`${args.join(" ")}: ${stderr.slice(0, 1_000)}`, { cause: error }));
  });
  child.stdin?.end(text);
  return promise;
}

/**
 * Milliseconds that the simplest tool takes, several times, to write a part of the service that changes as it is there already, on the
 * table as it is loaded: no program changes it sooner with that tool.
 */
export async function bareChanges(
  { live, tool }: MeasuredBackend,
  node: Namespace,
  times: number,
): Promise<number[]> {
  const text = live.rewrite(await node.exec(live.command, { timeout: PATIENCE }));
  const taken: number[] = [];
  for (let i = 0; i < times; i++) taken.push(await bareRun(tool, text, node.within));
  return taken;
}
