import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll, forMany } from "../../../test/generators/for-all.ts";
import { elementOf, families, layouts } from "../../../test/generators/nft-elements.ts";
import { SETS } from "../../backends/nftables/sets.ts";
import { decodeElements, encodeChange } from "./encoding.ts";

test("elements that are encoded are decoded, in order, from as many messages as they need", async () => {
  const cases = families.chain((family) =>
    layouts.chain((set) =>
      fc.record({
        ...{ family: fc.constant(family), set: fc.constant(set) },
        elements: fc.array(elementOf(set, family), { minLength: 1, maxLength: 20 }),
        copies: fc.constantFrom(1, 100),
      }),
    ),
  );
  await forMany(50, [cases], ({ family, set, elements, copies }) => {
    const all = Array.from({ length: copies }, () => elements).flat();
    const messages = encodeChange(family, "t", { kind: "add", set, elements: all });
    for (const { payload } of messages) assert.ok(payload.length < 65_536, "as attributes can be");
    const found = messages.flatMap(({ payload }) => decodeElements(payload, family, set));
    assert.deepEqual(found, all);
  });
});

test("an element with the fields of another set is reported as unknown", () => {
  const elements = [{ key: "f1000001", value: "", comment: "" }];
  const [message] = encodeChange("IPv4", "t", { kind: "add", set: SETS.explicit, elements });
  assert.ok(message);
  assert.deepEqual(decodeElements(message.payload, "IPv4", SETS.services), [undefined]);
});

test("no bytes make the decoder throw", () =>
  forAll([families, layouts, fc.uint8Array({ maxLength: 200 })], (family, set, bytes) => {
    decodeElements(Buffer.from(bytes), family, set);
  }));
