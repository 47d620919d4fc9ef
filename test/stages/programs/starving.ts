import { execFileSync } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RestoreProcess } from "../../../agent/backends/iptables/apply.ts";
import { NodeLock } from "../../../agent/system/node-lock.ts";
import { execLines, runProgram } from "../../../agent/system/run-program.ts";
import { startProgram } from "../../../agent/system/start-program.ts";
import { systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import { CredentialPlugin } from "../../../common/kubernetes/credential-plugin.ts";

/*
 * Uses up every file descriptor that it may have, tries each way in which the agent starts a program, gives them
 * back, and tries again. Prints what each way said.
 */

const lockFile = join(tmpdir(), `csp-starving-${process.pid}.lock`);

const WAYS: Readonly<Record<string, () => Promise<unknown>>> = {
  credentialPlugin: async () => {
    const exec = { command: "sh", args: ["-c", `echo '{"status":{"token":"given"}}'`] };
    const plugin = new CredentialPlugin(exec, "/", systemClock);
    return plugin.credentials().then(({ token }) => token, String);
  },
  execLines: () => execLines(["true"], () => undefined).then(() => "done", codeOf),
  nodeLock: () => NodeLock.take(lockFile).then((lock) => lock && "taken", codeOf),
  runProgram: async () => {
    const { status, stderr } = await runProgram(["true"]);
    return status ?? (/EMFILE/.test(stderr) ? "CSP_EXEC_STARVED" : stderr);
  },
  restore: async () => {
    const restore = new RestoreProcess(["sh", "-c", "exec cat"], () => undefined);
    const said = await restore.run("*nat\nCOMMIT\n").then(() => "done", codeOf);
    await restore.close();
    return said;
  },
  startProgram: async () => {
    const { unstarted, how } = await startProgram(["true"], () => undefined).ended;
    return unstarted ?? how;
  },
};

async function tryAll(): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  for (const [name, way] of Object.entries(WAYS)) said[name] = await way();
  return said;
}

execFileSync("prlimit", ["--pid", `${process.pid}`, "--nofile=64:"]);
const held: number[] = [];
for (;;) {
  try {
    held.push(openSync("/dev/null", "r"));
  } catch {
    break;
  }
}
const starved = await tryAll();
for (const descriptor of held) closeSync(descriptor);
const after = await tryAll();
rmSync(lockFile);
process.stdout.write(JSON.stringify({ starved, after }));
