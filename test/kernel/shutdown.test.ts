import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

const SAVE = "iptables-nft-save";
const LIST = "iptables-nft";
const RESTORE = "iptables-nft-restore";
/** Hangs, in a child of its own, for longer than any test, and leaves a mark. */
const HANGS = 'touch "$LAB/$(basename "$0")-hangs"; sleep 600; true';
/** Never reads its input. */
const WAITS = 'touch "$LAB/waits"; exec sleep 600';

/** A path in which stand-ins with these scripts, by name, precede the real tools. */
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

/** Waits until a stand-in has left its mark in the lab's directory. */
function marked(stage: NodeStage, name: string): Promise<void> {
  return eventually(() => {
    assert.ok(existsSync(join(stage.lab.directory, name)), stage.agent.log);
  }, 30_000);
}

// `stop` kills an agent that has not ended after five seconds; its result shows that.
describe("an agent ends on SIGTERM", { concurrency: 3 }, () => {
  for (const [what, scripts, flavour] of [
    ["reading back", { [SAVE]: HANGS }, "nft"],
    ["reading back, and iptables-restore hangs", { [SAVE]: HANGS, [RESTORE]: HANGS }, "nft"],
    ["choosing the flavour", { [SAVE]: HANGS }, "auto"],
  ] as const) {
    test(`while iptables-save hangs in ${what}`, async () => {
      const options = { through: standingIn(scripts), flavour };
      await using stage = await NodeStage.create(options);
      stage.agent.launch();
      await marked(stage, `${SAVE}-hangs`);
      assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
      assert.deepEqual(
        stage.log.filter(({ level }) => level !== "info"),
        [],
      );
    });
  }

  test("while the tests of the node hang", async () => {
    const script = `case "$*" in (*--version*) ${HANGS};; (*) exec /usr/sbin/${LIST} "$@";; esac`;
    await using stage = await NodeStage.create({ through: standingIn({ [LIST]: script }) });
    stage.agent.launch();
    await marked(stage, `${LIST}-hangs`);
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
  });

  test("while conntrack hangs, which replaces native code that does not load", async () => {
    const through = (directory: string) => [
      ...standingIn({ conntrack: HANGS })(directory),
      "NODE_OPTIONS=--no-addons",
    ];
    await using stage = await NodeStage.create({ through });
    await stage.start();
    await marked(stage, "conntrack-hangs");
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
  });

  test("at once on a second SIGTERM, even during a transaction", async () => {
    await using stage = await NodeStage.create({ through: standingIn({ [RESTORE]: WAITS }) });
    stage.agent.launch();
    await marked(stage, "waits");
    stage.agent.signal("SIGTERM");
    await stage.logged(({ msg }) => msg.startsWith("Stopping"));
    assert.deepEqual(await stage.agent.stop(), { code: null, signal: "SIGTERM" });
  });
});
