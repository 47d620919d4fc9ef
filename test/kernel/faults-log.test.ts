import assert from "node:assert/strict";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { sliceObject } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { entries, NodeStage } from "../stages/node-stage.ts";

/** Who reads an agent's log through a pipe: a container runtime, for one. */
class LogReader implements Disposable {
  readonly #pipe: number;
  text = "";

  constructor(pipe: string) {
    this.#pipe = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** Reads what is there. */
  read(): void {
    const piece = Buffer.alloc(65_536);
    try {
      for (let n = 1; n > 0; ) {
        n = readSync(this.#pipe, piece);
        this.text += piece.toString("utf8", 0, n);
      }
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#pipe);
  }
}

/** An agent that logs into a pipe. */
async function stageWithPipe(): Promise<{ readonly stage: NodeStage; readonly pipe: string }> {
  const stage = await NodeStage.create({
    through: (directory) => ["sh", "-c", 'exec "$@" 2>"$0"', join(directory, "pipe")],
  });
  const pipe = join(stage.lab.directory, "pipe");
  await stage.node.exec(["mkfifo", pipe]);
  return { stage, pipe };
}

/** Slices that are not taken: one line of the log each, of about 200 bytes. */
function wrongSlices(n: number): object[] {
  return Array.from({ length: n }, (_, i) => {
    const name = `wrong-${i}-${"x".repeat(40)}`;
    return { ...sliceObject(name, "shop/web", { cluster: "c1" }, [], []), addressType: "FQDN" };
  });
}

describe("the reader of the log", { concurrency: 3 }, () => {
  test("hangs for a while: changes are programmed, no line is truncated, and lost lines are counted", async () => {
    const { stage, pipe } = await stageWithPipe();
    await using _ = stage;
    using reader = new LogReader(pipe);
    await stage.start();
    reader.read();
    const wrong = 4000;
    stage.manifests.write("wrong", ...wrongSlices(wrong));
    stage.change("10.1.0.12");
    await stage.live("10.1.0.12");
    stage.change("10.1.0.13");
    await stage.live("10.1.0.13");
    const of = (text: string) => entries(text).filter(({ reason }) => reason === "fqdn-slice");
    const lost = await eventually(() => {
      reader.read();
      const line = entries(reader.text).find(({ msg }) => msg === "Log lines were lost");
      assert.ok(line);
      return line;
    });
    assert.equal(lost.why, "log reader too slow");
    const came = of(reader.text).length;
    assert.ok(
      came < wrong && came + Number(lost.lines) >= wrong,
      `${came} came, ${String(lost.lines)} lost`,
    );
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null });
    reader.read();
    assert.equal(entries(reader.text).at(-1)?.msg, "Stopping; the kernel keeps its rules");
  });

  test("exits and is replaced: changes are programmed, and lines lost in between are counted", async () => {
    const { stage, pipe } = await stageWithPipe();
    await using _ = stage;
    const first = new LogReader(pipe);
    await stage.start();
    first[Symbol.dispose]();
    stage.manifests.write("wrong", ...wrongSlices(3));
    stage.change("10.1.0.12");
    await stage.live("10.1.0.12");
    using second = new LogReader(pipe);
    stage.manifests.remove("wrong");
    const lost = await eventually(() => {
      second.read();
      const line = entries(second.text).find(({ msg }) => msg === "Log lines were lost");
      assert.ok(line);
      return line;
    });
    assert.deepEqual([lost.lines, lost.why], [3, "EPIPE"]);
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null });
  });

  test("is missing from the start: changes are programmed", async () => {
    await using stage = await NodeStage.create({
      through: () => ["sh", "-c", 'exec "$@" 2>&-', "sh"],
    });
    await stage.start();
    stage.change("10.1.0.12");
    await stage.live("10.1.0.12");
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null });
  });
});
