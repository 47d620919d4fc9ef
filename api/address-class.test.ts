import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "../test/generators/facts.ts";
import { classOf } from "./address-class.ts";

// The first and the last address of each class, and the neighbours that are outside of it.
const CLASSES = {
  "unspecified-address": ["0.0.0.0", "0.255.255.255", "::"],
  "loopback-address": ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"],
  "link-local-address": [
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "fe80::",
    "fe80::1",
    "febf:ffff::1",
  ],
  "multicast-address": ["224.0.0.0", "239.255.255.255", "255.255.255.255", "ff00::", "ff02::1"],
  none: [
    "1.0.0.0",
    "1.2.3.4",
    "10.96.0.1",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "223.255.255.255",
    "240.0.0.0",
    "241.0.0.1",
    "255.255.255.254",
    "::2",
    "::1:0:0",
    "fe7f::1",
    "fec0::1",
    "feff::1",
    "fd00::1",
    "2001:db8::1",
  ],
} as const;

for (const [name, texts] of Object.entries(CLASSES)) {
  for (const text of texts) {
    test(`${text} is of class ${name}`, () => {
      assert.equal(classOf(address(text)) ?? "none", name);
    });
  }
}
