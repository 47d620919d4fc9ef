import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fields } from "../../test/doubles/memory/fields.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";

// Answers to writes and events of a watch have connections of their own: either may be the first to arrive.

/** Writes an object, and returns what that write is answered with. */
function write({ things }: ReflectorStage, name = "web"): Fields | undefined {
  things.put(name, 7);
  return things.get(name);
}

describe("the response to a write", () => {
  test("is reported immediately, and its watch event is ignored", async () => {
    await using it = await ReflectorStage.of(3);
    it.news();
    it.server.disturb("freeze");
    it.reflector.wrote(write(it));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(1_200_000);
    assert.ok(!it.news().includes("+shop/web"));
    assert.deepEqual(it.believed, it.actual);
  });

  test("does not restore an object that the watch has reported as deleted", async () => {
    await using it = await ReflectorStage.of(3);
    const answer = write(it);
    it.things.delete("web");
    await it.settle();
    assert.deepEqual(it.news().slice(-2), ["+shop/web", "-shop/web"]);
    it.reflector.wrote(answer);
    assert.deepEqual(it.news(), []);
    // Nor if the watch was opened again before it arrives.
    for (let i = 0; i < 2; i++) {
      it.server.disturb("close");
      await it.settle();
    }
    it.reflector.wrote(answer);
    await it.pass(1_200_000);
    assert.ok(!it.news().includes("+shop/web"));
    assert.deepEqual(it.believed, it.actual);
  });

  test("does not restore an object that was deleted without a watch, and that the list in progress lacks", async () => {
    await using it = await ReflectorStage.of(3);
    it.server.initialEvents = "refused";
    it.server.disturb("expired");
    const answer = write(it);
    it.things.delete("web");
    it.things.put("o0", 1);
    it.onChanged = () => {
      it.onChanged = () => undefined;
      it.reflector.wrote(answer);
    };
    it.news();
    await it.pass(2000);
    assert.deepEqual(
      it.news().filter((line) => line.endsWith("web")),
      ["+shop/web", "-shop/web"],
    );
    assert.deepEqual(it.believed, it.actual);
  });

  for (const [name, what] of [
    ["o0", "an object that is known"],
    ["web", "an object that is new"],
  ] as const) {
    test(`of ${what} that comes after the list's moment, and before its first byte, is neither an older server nor missing`, async () => {
      await using it = await ReflectorStage.of(3);
      const request = it.server.request.bind(it.server);
      let isWritten = false;
      it.server.request = async (asked) => {
        const answer = await request(asked);
        if (!isWritten && asked.path.includes("sendInitialEvents")) {
          isWritten = true;
          it.reflector.wrote(write(it, name));
        }
        return answer;
      };
      it.news();
      it.server.objects.compact();
      it.things.put("o2", 5);
      it.server.disturb("expired");
      await it.pass(2000);
      assert.ok(isWritten);
      assert.deepEqual(
        it.news().filter((line) => line !== "expired"),
        ["+shop/o2", `+shop/${name}`, "listing", "watching"],
      );
      assert.deepEqual(it.believed, it.actual);
    });
  }

  test("of a restored server is reported, although its versions are lower than known ones", async () => {
    await using it = await ReflectorStage.of(20);
    it.things.restore(["o0"], it.things.version - 10);
    it.server.disturb("reset");
    await it.pass(2000);
    assert.equal(it.state, "doubtful");
    it.news();
    it.reflector.wrote(write(it));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(30_000);
    assert.deepEqual(it.believed, it.actual);
  });
});
