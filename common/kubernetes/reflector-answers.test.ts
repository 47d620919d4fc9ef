import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredObject } from "../../test/support/object-store.ts";
import { Reflection } from "../../test/support/reflection.ts";

// Answers to writes and events of a watch have connections of their own: either may be the first to arrive.

/** A reflection of three objects, and of one more that was just written: `web`, and what that write is answered with. */
async function written(): Promise<{ it: Reflection; answer: StoredObject }> {
  const it = await Reflection.of(3);
  it.server.store.put("web", 7);
  const answer = it.server.store.objects.get("shop/web");
  assert.ok(answer);
  return { it, answer };
}

describe("the answer to a write", () => {
  test("is told at once, and its event is no news then", async () => {
    const it = await Reflection.of(3);
    it.news();
    it.server.disturb("freeze");
    it.server.store.put("web", 7);
    it.reflector.wrote(it.server.store.objects.get("shop/web"));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(1_200_000);
    assert.ok(!it.news().includes("+shop/web"));
    assert.deepEqual(it.believed, it.actual);
    await it.end();
  });

  test("brings nothing back that was deleted since, as the watch has told", async () => {
    const { it, answer } = await written();
    it.server.store.delete("web");
    await it.settle();
    assert.deepEqual(it.news().slice(-2), ["+shop/web", "-shop/web"]);
    it.reflector.wrote(answer);
    assert.deepEqual(it.news(), []);
    await it.end();
  });

  test("brings nothing back that was deleted while nobody watched, and that the list which is under way lacks", async () => {
    const it = await Reflection.of(3);
    it.server.initialEvents = "refused";
    it.server.disturb("expired");
    it.server.store.put("web", 7);
    const answer = it.server.store.objects.get("shop/web");
    it.server.store.delete("web");
    it.server.store.put("o0", 1);
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
    await it.end();
  });

  test("to one after the moment of the list that is under way is not missing in that", async () => {
    const it = await Reflection.of(3);
    it.server.initialEvents = "refused";
    it.server.store.compact();
    it.server.disturb("expired");
    it.server.store.put("o0", 1);
    it.onChanged = () => {
      it.onChanged = () => undefined;
      it.server.store.put("web", 7);
      it.reflector.wrote(it.server.store.objects.get("shop/web"));
    };
    it.news();
    await it.pass(2000);
    assert.ok(!it.news().includes("-shop/web"));
    assert.deepEqual(it.believed, it.actual);
    await it.end();
  });

  for (const [name, what] of [
    ["o0", "an object that is known"],
    ["web", "an object that is new"],
  ] as const) {
    test(`of ${what} that comes after the list's moment, and before its first byte, is neither an older server nor missing`, async () => {
      const it = await Reflection.of(3);
      const request = it.server.request.bind(it.server);
      let isWritten = false;
      it.server.request = async (asked) => {
        const answer = await request(asked);
        if (!isWritten && asked.path.includes("sendInitialEvents")) {
          isWritten = true;
          it.server.store.put(name, 7);
          it.reflector.wrote(it.server.store.objects.get(`shop/${name}`));
        }
        return answer;
      };
      it.news();
      it.server.store.compact();
      it.server.store.put("o2", 5);
      it.server.disturb("expired");
      await it.pass(2000);
      assert.ok(isWritten);
      assert.deepEqual(
        it.news().filter((line) => line !== "expired"),
        ["+shop/o2", `+shop/${name}`, "listing", "watching"],
      );
      assert.deepEqual(it.believed, it.actual);
      await it.end();
    });
  }

  test("of a server that was restored is told, though its versions are lower than what was seen", async () => {
    const it = await Reflection.of(20);
    it.server.store.restore(["o0"], it.server.store.version - 10);
    it.server.disturb("reset");
    await it.pass(2000);
    assert.equal(it.state, "doubtful");
    it.server.store.put("web", 7);
    it.news();
    it.reflector.wrote(it.server.store.objects.get("shop/web"));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(30_000);
    assert.deepEqual(it.believed, it.actual);
    await it.end();
  });
});
