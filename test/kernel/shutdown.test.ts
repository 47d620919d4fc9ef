import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually } from "../support/agent-process.ts";
import { FaultStage } from "../support/fault-stage.ts";

const SAVE = "iptables-nft-save";
const LIST = "iptables-nft";
const RESTORE = "iptables-nft-restore";
/** Does nothing, in a child of its own, for longer than any test; says that it has begun. */
const HANGS = 'touch "$LAB/$(basename "$0")-hangs"; sleep 600; true';
/** Does what the real one does, but reads nothing before it is let go. */
const WAITS = `touch "$LAB/waits"
while [ ! -e "$LAB/go" ]; do sleep 0.02; done
exec /usr/sbin/${RESTORE} "$@"`;

/** Before the real tools in the agent's path: stand-ins with these scripts, by name. */
function standingIn(scripts: Readonly<Record<string, string>>) {
  return (directory: string): string[] => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    for (const [name, script] of Object.entries(scripts)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    return ["env", `PATH=${bin}:${process.env.PATH}`, `LAB=${directory}`];
  };
}

/** Waits until a stand-in has made its mark in the lab's directory. */
function marked(stage: FaultStage, name: string): Promise<void> {
  return eventually(() => {
    assert.ok(existsSync(join(stage.lab.directory, name)), stage.agent.log);
  }, 30_000);
}

// An agent that has not ended after five seconds is killed by `stop`, which shows in what that gives.
describe("an agent that is told to end", { concurrency: 3 }, () => {
  for (const [what, scripts, flavour] of [
    ["reading back", { [SAVE]: HANGS }, "nft"],
    ["reading back, and iptables-restore too", { [SAVE]: HANGS, [RESTORE]: HANGS }, "nft"],
    ["choosing the flavour", { [SAVE]: HANGS }, "auto"],
  ] as const) {
    test(`does so while iptables-save hangs in ${what}`, async () => {
      const options = { through: standingIn(scripts), flavour };
      await using stage = await FaultStage.create(options);
      stage.agent.launch();
      await marked(stage, `${SAVE}-hangs`);
      assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
      assert.deepEqual(
        stage.log.filter(({ level }) => level !== "info"),
        [],
      );
    });
  }

  for (const [what, call] of [
    ["looks at its own rules", "-S"],
    ["looks at the node", "--version"],
  ] as const) {
    test(`does so while ${what} hang`, async () => {
      const script = `case "$*" in (*${call}*) ${HANGS};; (*) exec /usr/sbin/${LIST} "$@";; esac`;
      await using stage = await FaultStage.create({ through: standingIn({ [LIST]: script }) });
      stage.agent.launch();
      await marked(stage, `${LIST}-hangs`);
      assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
    });
  }

  test("does so while conntrack hangs, which it uses where native code does not load", async () => {
    const through = (directory: string) => [
      ...standingIn({ conntrack: HANGS })(directory),
      "NODE_OPTIONS=--no-addons",
    ];
    await using stage = await FaultStage.create({ through });
    await stage.start();
    await marked(stage, "conntrack-hangs");
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
  });

  test("lets the transaction in flight end first, and then ends", async () => {
    await using stage = await FaultStage.create({ through: standingIn({ [RESTORE]: WAITS }) });
    stage.agent.launch();
    await marked(stage, "waits");
    await stage.logged(({ msg }) => msg.startsWith("All sources have listed"));
    stage.agent.signal("SIGTERM");
    await stage.logged(({ msg }) => msg.startsWith("Stopping"));
    assert.equal(await stage.rules(), "");
    writeFileSync(join(stage.lab.directory, "go"), "");
    assert.deepEqual(await stage.agent.exited, { code: 0, signal: null });
    await stage.live("10.1.0.11");
  });

  test("does so at once when it is told a second time, whatever is in flight", async () => {
    await using stage = await FaultStage.create({ through: standingIn({ [RESTORE]: WAITS }) });
    stage.agent.launch();
    await marked(stage, "waits");
    stage.agent.signal("SIGTERM");
    await stage.logged(({ msg }) => msg.startsWith("Stopping"));
    assert.deepEqual(await stage.agent.stop(), { code: null, signal: "SIGTERM" });
  });
});
