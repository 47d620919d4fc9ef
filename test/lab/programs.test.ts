import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "./lab.ts";
import type { Namespace } from "./namespace.ts";
import { request, serve } from "./programs.ts";

let lab: Lab;
let client: Namespace;
let server: Namespace;

before(async () => {
  const pods = { client: [], server: ["10.5.0.1", "10.5.0.2", "fd00:5::1"] };
  lab = await Lab.oneNode(pods);
  client = lab.pod("c1", "n1", "client");
  server = lab.pod("c1", "n1", "server");
  const names = ["--as", "a=10.5.0.1", "--as", "b=10.5.0.2", "--as", "c=fd00:5::1"];
  await server.spawn(serve("--name", "rest", "--udp", "5353", ...names)).line(/serving/);
});
after(() => lab.remove());

async function ask(...args: readonly string[]) {
  const { code, stdout } = await client.run(request("--timeout", "3000", ...args));
  return {
    code,
    lines: stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}

test("serve responds on several addresses, with a name for each, by each protocol", async () => {
  const hosts = { a: "10.5.0.1", b: "10.5.0.2", c: "[fd00:5::1]" };
  for (const [name, host] of Object.entries(hosts)) {
    for (const target of [`tcp://${host}:8080`, `http://${host}:8080/`, `udp://${host}:5353`]) {
      const { code, lines } = await ask(target);
      assert.deepEqual([code, lines.length, lines[0].name], [0, 1, name], target);
    }
  }
});

test("request prints the result of a failed connection as one word, and exits with an error", async () => {
  // A listener that resets: it closes with the question still unread.
  const rude = `require("net").createServer((s) => setTimeout(() => s.resetAndDestroy(), 20)).listen(81);
    require("net").createServer((s) => s.end()).listen(82);
    require("net").createServer((s) => s.end("what?\\n")).listen(83, () => console.log("ready"));`;
  await server.spawn([process.execPath, "--eval", rude]).line(/ready/);
  const words = {
    "tcp://10.5.0.1:80": "refused",
    "udp://10.5.0.1:80": "refused",
    "tcp://10.5.0.1:81": "reset",
    "tcp://10.5.0.1:82": "closed",
    "tcp://10.5.0.1:83": "garbled",
    "tcp://10.1.0.77:80": "unreachable",
    "http://10.5.0.1:8080/none": "status",
  };
  for (const [target, word] of Object.entries(words)) {
    const { code, lines } = await ask(target);
    assert.deepEqual([code, lines[0].error], [1, word], target);
  }
  const { lines } = await ask("http://10.5.0.1:8080/slow?ms=60000", "--timeout", "50");
  assert.equal(lines[0].error, "timeout");
});

test("After SIGTERM, a stream of requests starts no connection, and waits for pending ones", async () => {
  const slow = "http://10.5.0.1:8080/slow?ms=400";
  const stream = client.spawn(request("--rate", "100", "--for", "30", slow));
  await stream.line(/"name"/);
  const { code } = await stream.stop();
  const sum = JSON.parse(stream.lines.at(-1) ?? "");
  assert.equal(code, 0);
  assert.equal(sum.total, stream.lines.length - 1);
  assert.ok(sum.total > 1 && sum.total < 1_000, `${sum.total} attempts`);
});

test("After SIGTERM, serve accepts no connection, and established ones continue for the grace period", async () => {
  const graceful = server.spawn(serve("--tcp", "9090", "--name", "g", "--grace", "2"));
  await graceful.line(/serving/);
  const held = client.spawn(request("--hold", "http://10.5.0.1:9090"));
  await held.line(/"line":2/);
  graceful.signal("SIGTERM");
  await sleep(200);
  assert.equal((await ask("tcp://10.5.0.1:9090")).lines[0].error, "refused");
  const before = held.lines.length;
  await sleep(250);
  assert.ok(held.lines.length > before, "the held connection fell silent");
  assert.deepEqual(await graceful.exited, { code: 0, signal: null });
  assert.equal((await held.exited).code, 1);
});

test("A held connection that ends at its time limit is not a failure", async () => {
  const { code, lines } = await ask("http://10.5.0.1:8080", "--hold", "--for", "0.3");
  assert.equal(code, 0);
  for (const [i, { name, line }] of lines.entries()) assert.equal(`${name} ${line}`, `a ${i + 1}`);
});
