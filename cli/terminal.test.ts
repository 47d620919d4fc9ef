import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { FakeApiServer, kubeconfigOf } from "../test/doubles/fake-api-server.ts";
import { fakeProperties } from "../test/doubles/fake-member.ts";
import { CommandLine } from "../test/stages/command-line.ts";
import { ask } from "./terminal.ts";

// The program on a pseudo-terminal (script, of util-linux), with a person who types.

let server: FakeApiServer;
let silent: FakeApiServer;
let user: CommandLine;
before(async () => {
  server = await FakeApiServer.start({
    objects: {
      namespaces: ["kube-system", "clusterset-proxy"].map((name) => ({
        ...{ apiVersion: "v1", metadata: { name } },
      })),
      clusterproperties: fakeProperties({ "cluster.clusterset.k8s.io": "c1" }),
    },
  });
  silent = await FakeApiServer.start({ silent: true });
  user = new CommandLine({ one: server.inline, silent: kubeconfigOf(silent.url) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await silent?.[Symbol.asyncDispose]();
});

/** Runs Node on a terminal of `columns`; after each question, the next one of `typed` is typed. */
async function onTerminal(argv: string, columns: number, ...typed: readonly string[]) {
  const program = `stty cols ${columns}; exec '${process.execPath}' ${argv}`;
  const child = spawn("script", ["-qec", program, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, SHELL: "/bin/sh", NODE_NO_WARNINGS: "1", KUBECONFIG: user.kubeconfig },
  });
  let text = "";
  let asked = 0;
  child.stdout.on("data", (part: Buffer) => {
    text += part.toString();
    const questions = text.match(/\? (\[y\/N\] )?/g)?.length ?? 0;
    for (; asked < questions; asked++) child.stdin.write(typed[asked] ?? "");
  });
  const [code] = await once(child, "exit");
  // Without colours.
  const esc = String.fromCharCode(27);
  return { code, text: text.replaceAll(new RegExp(`${esc}\\[[0-9;]*[A-Za-z]`, "g"), "") };
}

const MAIN = `${import.meta.dirname}/main.ts`;
/** Asks twice. */
const ASKING = `--input-type=module-typescript -e '
  import { ask } from "${import.meta.dirname}/terminal.ts";
  import { stopSignal } from "${import.meta.dirname}/../common/process.ts";
  const signal = stopSignal();
  const person = { input: process.stdin, output: process.stderr, signal };
  for (const question of ["first? ", "second? "]) {
    try {
      console.log("<" + (await ask(question, person)) + ">");
    } catch (thrown) {
      console.log("rejected, aborted by " + signal.reason);
      process.exit(3);
    }
  }'`;

for (const [name, typed, shown, expected] of [
  ["a person's lines are the answers", ["yes\r", "n\r"], /<yes>.*<n>/s, 0],
  ["Ctrl-D is an empty answer, and the program goes on", ["\u0004", "yes\r"], /<>.*<yes>/s, 0],
  ["Ctrl-C is SIGINT: nothing is answered", ["\u0003"], /^[^<>]*rejected, aborted by SIGINT/, 3],
] as const)
  test(name, async () => {
    const { text, code } = await onTerminal(ASKING, 80, ...typed);
    assert.match(text, shown);
    assert.equal(code, expected);
  });

test("without a terminal, no question is asked", async () => {
  const input = new PassThrough() as unknown as NodeJS.ReadStream;
  const output = new PassThrough();
  const signal = new AbortController().signal;
  assert.equal(await ask("first? ", { input, output, signal }), undefined);
  assert.equal(output.read(), null);
});

for (const [name, typed, expected] of [
  ["Ctrl-C", "\u0003", 130],
  ["Ctrl-D", "\u0004", 1],
  ["no", "n\r", 1],
  ["nothing but return", "\r", 1],
] as const)
  test(`a question waits, and ${name} ends the command with ${expected}, without a trace, and changes nothing`, async () => {
    const { code, text } = await onTerminal(`${MAIN} leave one --context one`, 200, typed);
    assert.match(text, /namespace\/clusterset-proxy.*Continue\? \[y\/N\] /s);
    assert.equal(code, expected, text);
    assert.doesNotMatch(text, /\n {4}at |Error/);
    assert.deepEqual(server.writes, []);
  });

test("lines fit the terminal, and a cluster that does not answer is named while it is waited for", async () => {
  const { code, text } = await onTerminal(`${MAIN} status --all-contexts --request-timeout 3s`, 80);
  assert.equal(code, 1);
  assert.match(text, /^waiting for silent\r$/m);
  assert.match(text, /^silent +cluster +stalled/m);
  for (const line of text.split(/\r?\n/)) assert.ok(line.length <= 80, `${line.length}: ${line}`);
});
