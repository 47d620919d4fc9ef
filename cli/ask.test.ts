import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

/** A program that asks twice, on a pseudo-terminal (script, of util-linux), with what a person types once it has asked. */
async function answered(...typed: readonly string[]): Promise<{ text: string; code: number }> {
  const program = `
    import { ask } from "${import.meta.dirname}/ask.ts";
    import { stopSignal } from "${import.meta.dirname}/../common/stop-signal.ts";
    const signal = stopSignal();
    const person = { input: process.stdin, output: process.stderr, signal };
    for (const question of ["first? ", "second? "]) {
      try {
        console.log("<" + (await ask(question, person)) + ">");
      } catch (thrown) {
        console.log("rejected, aborted by " + signal.reason);
        process.exit(3);
      }
    }`;
  const command = `'${process.execPath}' --input-type=module-typescript -e '${program}'`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, SHELL: "/bin/sh", NODE_NO_WARNINGS: "1" },
  });
  let text = "";
  const waiting = [...typed];
  let asked = 0;
  child.stdout.on("data", (part: Buffer) => {
    text += part.toString();
    const questions = text.match(/(first|second)\? /g)?.length ?? 0;
    for (; asked < questions; asked++) child.stdin.write(waiting.shift() ?? "");
  });
  const code = await new Promise<number>((resolve) => {
    child.once("exit", (status) => resolve(status ?? -1));
  });
  return { text, code };
}

test("a person's lines are the answers", async () => {
  const { text, code } = await answered("yes\r", "n\r");
  assert.match(text, /<yes>.*<n>/s);
  assert.equal(code, 0);
});

test("Ctrl-D is an empty answer, and the program goes on", async () => {
  const { text, code } = await answered("\u0004", "yes\r");
  assert.match(text, /<>.*<yes>/s);
  assert.equal(code, 0);
});

test("Ctrl-C is SIGINT, and nothing is answered", async () => {
  const { text, code } = await answered("\u0003");
  assert.match(text, /rejected, aborted by SIGINT/);
  assert.doesNotMatch(text, /[<>]/);
  assert.equal(code, 3);
});

test("without a terminal, no question is asked", async () => {
  const { PassThrough } = await import("node:stream");
  const { ask } = await import("./ask.ts");
  const input = new PassThrough() as unknown as NodeJS.ReadStream;
  const output = new PassThrough();
  const signal = new AbortController().signal;
  assert.equal(await ask("first? ", { input, output, signal }), undefined);
  assert.equal(output.read(), null);
});
