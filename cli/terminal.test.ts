import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import {
  kubeconfigOf,
  StaticApiServer,
  type StaticObject,
} from "../test/doubles/static-api-server.ts";
import { CommandLine } from "../test/stages/command-line.ts";

// The program on a pseudo-terminal (script, of util-linux), with a person who types.

let server: StaticApiServer;
let silent: StaticApiServer;
let user: CommandLine;
before(async () => {
  const property = (name: string, value: string) =>
    ({ metadata: { name }, spec: { value } }) as unknown as StaticObject;
  server = await StaticApiServer.start({
    objects: {
      namespaces: [
        { apiVersion: "v1", metadata: { name: "kube-system" } },
        { apiVersion: "v1", metadata: { name: "clusterset-proxy" } },
      ],
      clusterproperties: [property("cluster.clusterset.k8s.io", "c1")],
    },
  });
  silent = await StaticApiServer.start({ silent: true });
  user = new CommandLine({
    one: server.kubeconfig,
    silent: kubeconfigOf(silent.url),
  });
});
after(async () => {
  user?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await silent?.[Symbol.asyncDispose]();
});

/** Runs the program on a terminal of `columns`; after a question, `typed` is typed. */
async function onTerminal(argv: string, columns: number, typed = "") {
  const program = `'${process.execPath}' ${import.meta.dirname}/main.ts ${argv}`;
  const child = spawn("script", ["-qec", `stty cols ${columns}; exec ${program}`, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, SHELL: "/bin/sh", NODE_NO_WARNINGS: "1", KUBECONFIG: user.kubeconfig },
  });
  let text = "";
  let isTyped = false;
  child.stdout.on("data", (part: Buffer) => {
    text += part.toString();
    if (isTyped || !text.includes("Continue? [y/N] ")) return;
    isTyped = true;
    child.stdin.write(typed);
  });
  const code = await new Promise<number>((resolve) => {
    child.once("exit", (status) => resolve(status ?? -1));
  });
  // Without colours.
  const esc = String.fromCharCode(27);
  return { code, text: text.replaceAll(new RegExp(`${esc}\\[[0-9;]*[A-Za-z]`, "g"), "") };
}

for (const [name, typed, expected] of [
  ["Ctrl-C", "\u0003", 130],
  ["Ctrl-D", "\u0004", 1],
  ["no", "n\r", 1],
  ["nothing but return", "\r", 1],
] as const)
  test(`a question waits, and ${name} ends the command with ${expected}, without a trace, and changes nothing`, async () => {
    const { code, text } = await onTerminal("leave one --context one", 200, typed);
    assert.match(text, /namespace\/clusterset-proxy.*Continue\? \[y\/N\] /s);
    assert.equal(code, expected, text);
    assert.doesNotMatch(text, /\n {4}at |Error/);
    assert.deepEqual(server.writes, []);
  });

test("lines fit the terminal, and a cluster that does not answer is named while it is waited for", async () => {
  const { code, text } = await onTerminal("status --all-contexts --request-timeout 3s", 100);
  assert.equal(code, 1);
  assert.match(text, /^waiting for silent\r$/m);
  assert.match(text, /^silent +cluster +stalled/m);
  for (const line of text.split(/\r?\n/)) assert.ok(line.length <= 100, `${line.length}: ${line}`);
});
