import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeText } from "./decode.ts";

describe("decodeText", () => {
  it("accepts UTF-8 with tabs, line ends of any kind, and characters of any language", () => {
    const text = "a:\t1\r\nb: é 漢 🚀 \ufffd\u0085\n";
    assert.deepEqual(decodeText(Buffer.from(text)), { value: text });
  });

  const refused: [string, Buffer, number, number][] = [
    ["a byte that starts no character", Buffer.from([0x61, 0x0a, 0x62, 0xff, 0x63]), 2, 2],
    ["a character cut short at the end", Buffer.from([0xc3, 0xa9, 0xc3]), 1, 2],
    ["a bad byte after a replacement character", Buffer.from("\ufffd\n\ufffd\xff", "latin1"), 1, 1],
    ["an overlong spelling", Buffer.from([0x0a, 0xc0, 0x80]), 2, 1],
    ["a NUL byte", Buffer.from("a: 1\nb\0"), 2, 2],
    ["an escape sequence", Buffer.from("a: \x1b[31m"), 1, 4],
    ["a mark that the YAML lexer uses itself", Buffer.from("a\x02"), 1, 2],
    ["a C1 control character", Buffer.from("\u009b"), 1, 1],
    ["UTF-16", Buffer.from("a: 1", "utf16le"), 1, 2],
  ];
  for (const [what, bytes, line, column] of refused) {
    it(`rejects ${what}, with the position`, () => {
      const { mistake } = { mistake: undefined, ...decodeText(bytes) };
      assert.deepEqual([mistake?.fault, mistake?.line, mistake?.column], ["binary", line, column]);
    });
  }
});
