import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { forMany } from "../../../test/generators/for-all.ts";
import { MOST_YAML, parseDocuments } from "./document.ts";
import { decodeText } from "./manifest-files.ts";
import type { FileFault } from "./mistake.ts";

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

/** The values of a text that is in order. */
function values(text: string): readonly unknown[] {
  const outcome = parseDocuments(text);
  assert.ok(outcome.mistake === undefined, JSON.stringify(outcome));
  return outcome.value;
}

/** `syntax-error 3:1`, or `too-large` where no place is told. */
function fault(text: string): string {
  const outcome = parseDocuments(text);
  assert.ok(outcome.mistake !== undefined, JSON.stringify(outcome));
  const { fault, line, column } = outcome.mistake;
  return line === undefined ? fault : `${fault} ${line}:${column}`;
}

describe("parseDocuments", () => {
  const good: [string, string, unknown[]][] = [
    [
      "several documents, empty ones left out",
      "---\n---\na: 1\n---\n# no more\n---\nb: 2\n",
      [{ a: 1 }, { b: 2 }],
    ],
    ["nothing at all", "", []],
    ["JSON", '{"a": [1, "x", true, null]}', [{ a: [1, "x", true, null] }]],
    ["JSON with a byte order mark", '\ufeff{"a": 1}', [{ a: 1 }]],
    ["YAML with a byte order mark", "\ufeffa: 1", [{ a: 1 }]],
    ["YAML that begins as JSON does", "{a: 1}\n---\n{b: 2}\n", [{ a: 1 }, { b: 2 }]],
    ["Windows line ends", "a: 1\r\nb:\r\n  - x\r\n---\r\nc: 2\r\n", [{ a: 1, b: ["x"] }, { c: 2 }]],
    [
      "aliases",
      "a: &x { b: 1 }\nc: *x\nd: &x 2\ne: *x\n",
      [{ a: { b: 1 }, c: { b: 1 }, d: 2, e: 2 }],
    ],
    [
      "words that only YAML 1.1 takes for booleans",
      "a: yes\nb: no\nc: on\n",
      [{ a: "yes", b: "no", c: "on" }],
    ],
    [
      "a claim to be YAML 1.1, as YAML 1.2",
      "%YAML 1.1\n---\na: yes\nb: 010\n",
      [{ a: "yes", b: 10 }],
    ],
    [
      "foreign tags, as what they are put on",
      "a: !!js/function 'x'\nb: !!binary aGk=\n",
      [{ a: "x", b: "aGk=" }],
    ],
    ["a time, as text", "a: 2024-01-01T00:00:00Z\n", [{ a: "2024-01-01T00:00:00Z" }]],
    ["keys of any type, as text", "1: a\ntrue: b\n'<<': c\n", [{ 1: "a", true: "b", "<<": "c" }]],
    [
      "100 levels",
      `${"[".repeat(98)}a: 1${"]".repeat(98)}`,
      [JSON.parse(`${"[".repeat(98)}{"a":1}${"]".repeat(98)}`)],
    ],
  ];
  for (const [what, text, expected] of good) {
    it(`reads ${what}`, () => assert.deepEqual(values(text), expected));
  }

  const bad: [string, string, string][] = [
    ["a key twice", "a: 1\nb:\n  c: 1\n  c: 2\n", "syntax-error 4:3"],
    ["a mapping that does not end", '{"a": 1', "syntax-error 1:8"],
    ["JSON after JSON", '{"a": 1}\n{"b": 2}', "syntax-error 2:1"],
    ["tabs for indentation", "a:\n\tb: 1", "syntax-error 2:1"],
    ["a mapping in the line of a key", "a: b: c", "syntax-error 1:4"],
    ["a list as a key", "? [a]\n: 1", "syntax-error 1:3"],
    ["an alias of nothing", "a: *b", "syntax-error 1:4"],
    ["an alias of what comes later", "a: *b\nc: &b 1", "syntax-error 1:4"],
    ["a merge key", "a: &x { b: 1 }\nc:\n  <<: *x\n", "syntax-error 3:3"],
    [
      "a merge key of YAML 1.1",
      "%YAML 1.1\n---\na: &x { b: 1 }\nc: { <<: *x }\n",
      "syntax-error 4:6",
    ],
    ["a directive that is none", "%YAML\n", "syntax-error 1:1"],
    ["a value that holds itself", "a: &a [*a]", "too-deep"],
    ["a mistake in the last of several documents", "a: 1\n---\nb: [\n", "syntax-error 4:1"],
    ["more YAML than the parser can take in time", `# ${"x".repeat(MOST_YAML)}`, "too-large"],
  ];
  for (const [what, text, expected] of bad) {
    it(`rejects ${what}, with the position`, () => assert.equal(fault(text), expected));
  }

  it("accepts JSON that would be too large for YAML", () => {
    const long = "x".repeat(MOST_YAML);
    const deep = `\\"${"[".repeat(300)}`;
    assert.deepEqual(values(`\ufeff${JSON.stringify({ long, deep })}`), [{ long, deep }]);
    assert.equal(fault(`{"long": "${long}"`), "syntax-error");
  });

  it("rejects the billion laughs", () => {
    const letters = "abcdefghi".split("");
    const lines = letters.map((letter, i) => {
      const before = letters[i - 1];
      const item = before === undefined ? "lol" : `*${before}`;
      return `${letter}: &${letter} [${`${item}, `.repeat(9)}]`;
    });
    assert.equal(fault(lines.join("\n")).split(" ")[0], "alias-bomb");
  });

  it("rejects nesting that only aliases cause", () => {
    const lines = Array.from({ length: 150 }, (_, i) => `k${i}: &a${i + 1} [*a${i}]`);
    assert.equal(fault(["k: &a0 []", ...lines].join("\n")).split(" ")[0], "too-deep");
  });

  const nested: [string, string][] = [
    ["open lists", "["],
    ["open mappings", "{a: "],
    ["block lists", "- "],
    ["explicit keys", "? "],
    ["JSON", '{"a":'],
  ];
  for (const [what, unit] of nested) {
    it(`rejects 200,000 levels of ${what} without a stack overflow`, () => {
      assert.equal(fault(unit.repeat(200_000)).split(" ")[0], "too-deep");
    });
  }

  it("rejects complete JSON of 200,000 levels", () => {
    assert.equal(fault(`${"[".repeat(200_000)}${"]".repeat(200_000)}`), "too-deep");
  });

  it("counts no bracket inside a string as a level", () => {
    const text = "[".repeat(300);
    assert.deepEqual(values(JSON.stringify({ a: text, '\\"': text })), [{ a: text, '\\"': text }]);
    assert.deepEqual(values(`{ a: '${text}' }`), [{ a: text }]);
  });

  it("reads __proto__ as an ordinary key", () => {
    for (const text of ['{ "__proto__": { "polluted": 1 } }', "__proto__: { polluted: 1 }\n"]) {
      const [value] = values(text);
      assert.ok(Object.hasOwn(Object(value), "__proto__"));
      assert.equal(Reflect.get(Object(value), "polluted"), undefined);
      assert.equal(Reflect.get({}, "polluted"), undefined);
    }
  });
});

describe("parseDocuments of any text", () => {
  const known: readonly FileFault[] = ["syntax-error", "alias-bomb", "too-deep", "too-large"];
  /** Bits of YAML in any order: what a text full of mistakes is made of. */
  const yaml = fc
    .array(
      fc.oneof(
        fc.constantFrom(..."-:?#&*!|>'\"%@`{}[], \n\t".split("")),
        fc.constantFrom(
          "---\n",
          "...\n",
          "\n  ",
          "&a ",
          "*a",
          "<<: ",
          "%YAML 1.1\n",
          "!!str ",
          "key: ",
        ),
        fc.string({ maxLength: 4 }),
      ),
      { maxLength: 400 },
    )
    .map((parts) => parts.join(""));

  it("returns values or a mistake with its position, and never throws", () =>
    forMany(
      300,
      [fc.oneof(yaml, fc.string({ unit: "binary", maxLength: 200 }), fc.json())],
      (text) => {
        const { mistake } = { mistake: undefined, ...parseDocuments(text) };
        if (mistake === undefined) return;
        assert.ok(known.includes(mistake.fault), mistake.fault);
        assert.match(mistake.detail, /^[\x20-\x7e]{1,160}$/);
        const lines = text.split("\n");
        assert.ok((lines[(mistake.line ?? 1) - 1]?.length ?? -1) + 2 >= (mistake.column ?? 1));
      },
    ));

  it("needs time in proportion to the text's length, whatever repeats", () =>
    forMany(50, [yaml], (unit) => {
      if (unit === "") return;
      const started = process.cpuUsage();
      parseDocuments(unit.repeat(Math.ceil(20_000 / unit.length)));
      // Of the processor, some 40 ms are usual. A square of the length would take minutes.
      assert.ok(process.cpuUsage(started).user < 5_000_000);
    }));

  it("reads the output of YAML and JSON writers", () =>
    forMany(100, [fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))], (object) => {
      const text = JSON.stringify(object);
      // The writer does not quote it, and then it is a merge key, which is refused.
      fc.pre(!text.includes('"<<":'));
      const plain = JSON.parse(text);
      assert.deepEqual(values(text), [plain]);
      assert.deepEqual(values(stringify(plain, { aliasDuplicateObjects: false })), [plain]);
    }));
});
