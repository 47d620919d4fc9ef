import assert from "node:assert/strict";
import { test } from "node:test";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";

test("the version of a server is requested by a list of one object of any label, since searching for a label could take long", async () => {
  await using it = new ReflectorStage({
    labelSelector: "colour",
    fieldSelector: "metadata.name=o1",
  });
  it.things.put("o1", 1);
  await it.start();
  await it.pass(20_000);
  it.server.disturb("reset");
  await it.pass(2_000);
  const [first, look, again] = it.server.asked.map((path) => new URL(path, "http://server"));
  assert.equal(first?.searchParams.get("labelSelector"), "colour");
  assert.deepEqual(
    [...(look?.searchParams ?? [])],
    [
      ["fieldSelector", "metadata.name=o1"],
      ["limit", "1"],
    ],
  );
  assert.equal(again?.searchParams.get("labelSelector"), "colour");
});
