import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { ConntrackStage, PODS, REJECTED } from "../conntrack/stage.ts";
import type { Lab } from "../lab/lab.ts";
import { AGENT, eventually } from "../stages/agent-process.ts";
import { service } from "./service.ts";

/**
 * Files in the stand-ins' directory select the fault. `may_write` returns 1 if a write is to fail, and waits before that if writes
 * are to wait; `may_read` does not return if reading is to hang. The real tool is `$real`.
 */
const PROLOGUE = `#!/bin/sh
real=/usr/sbin/$(basename "$0")
cd "$(dirname "$0")/.."
may_write() {
  if [ -e waits ]; then
    touch reached
    while [ -e waits ]; do sleep 0.1; done
  fi
  calls=$(cat fails 2>/dev/null || echo 0)
  [ "$calls" -gt 0 ] || return 0
  echo $((calls - 1)) >fails
  return 1
}
may_read() {
  [ -e hangs ] || return 0
  touch reached
  exec sleep 600
}
`;

/** Stand-ins for a backend's tools that fail, wait or hang, for agents that find them before the real tools. */
export class FaultyTools {
  readonly #directory: string;

  /** `scripts`: by program; see `TestedBackend.standIns`. */
  constructor(lab: Lab, scripts: Readonly<Record<string, string>>) {
    this.#directory = join(lab.directory, "faulty");
    mkdirSync(join(this.#directory, "bin"), { recursive: true });
    for (const [program, script] of Object.entries(scripts)) {
      const path = join(this.#directory, "bin", program);
      writeFileSync(path, `${PROLOGUE}${script}\n`);
      chmodSync(path, 0o755);
    }
  }

  /** The command that starts an agent which uses them. */
  starting(agent: readonly string[] = [AGENT]): string[] {
    return ["env", `PATH=${this.#directory}/bin:${process.env.PATH}`, ...agent];
  }

  /** The next `writes` writes fail. */
  fail(writes: number): void {
    this.#write("fails", writes);
  }

  /** All writes wait until `heal`. */
  wait(): void {
    this.#write("waits", 1);
  }

  /** All reading hangs. */
  hang(): void {
    this.#write("hangs", 1);
  }

  /** Waits until a tool waits or hangs. */
  async reached(): Promise<void> {
    await eventually(() => {
      if (!existsSync(this.#path("reached"))) throw new Error("no tool waits or hangs");
    }, 60_000);
  }

  heal(): void {
    for (const name of ["fails", "waits", "hangs", "reached"])
      rmSync(this.#path(name), { force: true });
  }

  #write(name: string, value: number): void {
    writeFileSync(this.#path(name), `${value}\n`);
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

/** Emulation is slow. */
const PATIENCE = 40_000;
/** Of another import. */
const OTHER = "241.0.0.20";

for (const backend of BACKENDS) {
  describe(`faults of the tools, ${backend.title}`, () => {
    let stage: ConntrackStage;
    let tools: FaultyTools;
    const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
    const logged = (pattern: RegExp) => soon(() => assert.match(stage.agent.log, pattern));
    const answer = (vip?: string) => stage.answer(vip);
    const writeOther = (pod: "a" | "b") =>
      stage.manifests.write("other", ...service("shop/other", [OTHER], [PODS[pod]]));
    before(async () => {
      stage = await ConntrackStage.create({
        backend,
        program: async (lab) => {
          tools = new FaultyTools(lab, backend.standIns);
          return tools.starting(await backend.writingByTools?.(lab));
        },
      });
      stage.writeImport();
      stage.writeSlices(["a"]);
      await stage.agent.start();
      await stage.use(["a"]);
    });
    after(() => stage[Symbol.asyncDispose]());

    test("writes that fail: rules stay, and changes are live once a write succeeds", async () => {
      tools.fail(3);
      writeOther("a");
      await logged(/CSP_(EXEC_FAILED|RESTORE_KILLED)/);
      assert.equal(await answer(), "a");
      await soon(async () => assert.equal(await answer(OTHER), "a"));
      await logged(/Rules are in sync again/);
      stage.manifests.remove("other");
      await soon(async () => assert.equal(await answer(OTHER), REJECTED));
    });

    test("an agent killed during a change leaves working rules, and the next agent completes the change", async () => {
      tools.wait();
      writeOther("b");
      await tools.reached();
      assert.equal(await answer(OTHER), REJECTED);
      await stage.agent.kill();
      assert.equal(await answer(), "a");
      tools.heal();
      await stage.agent.start();
      assert.equal(await answer(OTHER), "b");
      assert.equal(await answer(), "a");
    });

    test("an agent stopped during a change completes it first, and the next agent writes nothing", async () => {
      tools.wait();
      stage.manifests.remove("other");
      await tools.reached();
      stage.agent.signal("SIGTERM");
      await logged(/"msg":"Stopping/);
      assert.equal(await answer(OTHER), "b");
      tools.heal();
      assert.deepEqual(await stage.agent.exited, { code: 0, signal: null }, stage.agent.log);
      assert.equal(await answer(OTHER), REJECTED);
      assert.deepEqual(await backend.takers(stage.node, "IPv4", "TCP"), [PODS.a]);
      const before = await backend.own(stage.node);
      await stage.agent.start();
      assert.deepEqual(await stage.agent.writes(), [0, 0]);
      assert.deepEqual(await backend.own(stage.node), before);
    });

    test("an agent stopped while a drift check hangs exits with code 0", async () => {
      tools.hang();
      // With nft, nothing is read while nobody else changes anything.
      await stage.node.exec(["nft", "add", "table", "ip", "another"]);
      await tools.reached();
      assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
      tools.heal();
      await stage.agent.start();
    });
  });
}
