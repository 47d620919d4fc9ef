import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutKnownTokens } from "./known-tokens.ts";

// In parts, so that no scanner takes this file for a leak.
const TOKENS = [
  `AKIA${"QZ3FV5PXKL7HYWD2"}`,
  `ghp_${"abcdefghijklmnopqrstuvwxyz0123456789"}`,
  `xoxb-${"123456789012-1234567890123-abcdefghijklmnopqrstuvwx"}`,
  `npm_${"abcdefghijklmnopqrstuvwxyz0123456789"}`,
];

test("tokens of known products are left out, in logs and in JSON, with the rest of their word", async () => {
  for (const token of TOKENS) {
    assert.equal(await withoutKnownTokens(`a ${token} b`), "a (left out) b");
    const json = JSON.stringify({ note: `${token}\nx`, b: 1 });
    assert.deepEqual(JSON.parse(await withoutKnownTokens(json)), { note: "(left out)\nx", b: 1 });
  }
  const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzabcdKEY12";
  assert.doesNotMatch(await withoutKnownTokens(`aws_secret_access_key = ${secret}`), /KEY12|wJal/);
});

test("no comment in a text switches the rules off", async () => {
  const [, token = ""] = TOKENS;
  assert.equal(
    await withoutKnownTokens(`# secretlint-disable\n${token}\n`),
    "# secretlint-disable\n(left out)\n",
  );
});

test("a text without tokens stays as it is", async () => {
  const text = '{"level":"info","import":"shop/web","reason":"programmed"}\n';
  assert.equal(await withoutKnownTokens(text), text);
});
