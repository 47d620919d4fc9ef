import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { encodeEntry } from "../../../test/conntrack/encode-entry.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { decodeEntry, encodeEverything, encodeFilter } from "./encoding.ts";
import { type Entry, TCP_STATES } from "./entry.ts";
import { deleteArguments, listArguments, parseLine } from "./listing.ts";

/** A UDP entry of 127.0.0.1 as Linux 6.18 sent it, without the message's header. */
const KERNELS =
  "020000003400018014000180080001007f000001080002007f0000011c000280050001001100000006000200eab70000" +
  "0600030003e700003400028014000180080001007f000001080002007f0000011c000280050001001100000006000200" +
  "03e7000006000300eab700000800030000000008080008000000000008000c00f62bd4c108000b000000000108000700" +
  "0000001d";

test("an entry as the kernel sends it", () => {
  const here = { source: "7f000001", destination: "7f000001" };
  assert.deepEqual(decodeEntry(Buffer.from(KERNELS, "hex")), {
    ...{ family: "IPv4", protocol: "UDP", replied: false, id: 0xf62bd4c1 },
    secondsLeft: 29,
    original: { ...here, sourcePort: 60087, destinationPort: 999 },
    reply: { ...here, sourcePort: 999, destinationPort: 60087 },
  });
});

const port = fc.nat(0xffff);
const zone = fc.option(fc.nat(0xffff), { nil: undefined });

/** Without the fields that have no value: an entry has no such fields. */
function lean<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}

const entries = fc.constantFrom("IPv4" as const, "IPv6" as const).chain((family) => {
  const digits = family === "IPv4" ? 8 : 32;
  const address = fc
    .array(fc.constantFrom("0", "1", "9", "a", "f"), { minLength: digits, maxLength: digits })
    .map((all) => all.join(""));
  const tuple = fc
    .record({
      source: address,
      destination: address,
      sourcePort: port,
      destinationPort: port,
      zone,
    })
    .map(lean);
  return fc
    .record({
      ...{ family: fc.constant(family), protocol: fc.constantFrom(...PROTOCOLS) },
      ...{ original: tuple, reply: tuple, replied: fc.boolean(), zone },
      id: fc.option(fc.nat(0xffffffff), { nil: undefined }),
      assured: fc.constantFrom(true as const, undefined),
      secondsLeft: fc.option(fc.nat(0xffffffff), { nil: undefined }),
      tcp: fc.option(fc.constantFrom(...TCP_STATES), { nil: undefined }),
    })
    .map((one) => lean(one) as Entry);
});

test("an entry is read as it was written", () =>
  forAll([entries], (entry) => assert.deepEqual(decodeEntry(encodeEntry(entry)), entry)));

test("reading ends for any bytes", () =>
  forAll([fc.uint8Array()], (some) => void decodeEntry(Buffer.from(some))));

test("an entry with a byte changed or cut off is another entry or none, and reading ends", () =>
  forAll([entries, fc.nat(), fc.nat(255), fc.boolean()], (entry, at, value, cut) => {
    const bytes = encodeEntry(entry);
    const index = at % bytes.length;
    bytes.writeUInt8(value, index);
    const read = decodeEntry(cut ? bytes.subarray(0, index) : bytes);
    if (read === undefined) return;
    const digits = read.family === "IPv4" ? 8 : 32;
    for (const { source, destination } of [read.original, read.reply]) {
      assert.match(source + destination, new RegExp(`^[0-9a-f]{${2 * digits}}$`));
    }
  }));

test("a filter is encoded for the kernel", () => {
  const hex = (bytes: Buffer) => bytes.toString("hex");
  const bytes = (...words: readonly string[]) => words.join("").replaceAll(" ", "");
  assert.equal(hex(encodeEverything()), "00000000");
  assert.equal(hex(encodeFilter({ family: "IPv6" })), "0a000000");
  const six = { family: "IPv6", destination: "fd000241000000000000000000000010" } as const;
  assert.equal(hex(encodeFilter(six)), "0a000000", "the kernel would invert the address");
  const byProtocol = "14001980 0800010008000000 0800020000000000";
  assert.equal(
    hex(encodeFilter({ family: "IPv4", protocol: "UDP" })),
    bytes("02000000 10000180", "0c000280 0500010011000000", byProtocol),
  );
  assert.equal(
    hex(encodeFilter({ family: "IPv6", protocol: "TCP", unanswered: true })),
    bytes(
      ...["0a000000 10000180", "0c000280 0500010006000000", byProtocol],
      "0800030000000000 08001a0000000002",
    ),
  );
  assert.equal(
    hex(encodeFilter({ family: "IPv4", destination: "f1000001" })),
    bytes(
      ...["02000000 10000180", "0c000180 08000200f1000001"],
      "14001980 0800010002000000 0800020000000000",
    ),
  );
});

// As conntrack 1.4.7 prints them.
const UDP =
  "udp      17 29 src=10.1.0.13 dst=241.0.0.10 sport=4000 dport=53 [UNREPLIED] src=10.1.0.11 dst=10.1.0.13 sport=8080 dport=4000 mark=0 use=1 id=4130067649";
const TCP =
  "tcp      6 431999 ESTABLISHED src=fd00:10:1::13 dst=fd00:241::10 sport=4000 dport=80 packets=5 bytes=300 src=fd00:10:1::11 dst=fd00:10:1::13 sport=8080 dport=4000 packets=4 bytes=200 [ASSURED] mark=0 zone=7 use=1 id=1";

test("lines as conntrack prints them", () => {
  assert.deepEqual(parseLine(UDP, "IPv4"), {
    ...{ family: "IPv4", protocol: "UDP", replied: false, id: 4130067649 },
    original: {
      ...{ source: "0a01000d", destination: "f100000a", sourcePort: 4000, destinationPort: 53 },
    },
    reply: {
      ...{ source: "0a01000b", destination: "0a01000d", sourcePort: 8080, destinationPort: 4000 },
    },
  });
  const tcp = parseLine(TCP, "IPv6");
  assert.deepEqual([tcp?.tcp, tcp?.replied, tcp?.zone], ["ESTABLISHED", true, 7]);
  assert.equal(tcp?.original.destination, "fd000241000000000000000000000010");
});

test("other lines are ignored", () => {
  for (const line of [
    "",
    "icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=7 src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=7",
    UDP.replace("sport=4000", ""),
    UDP.replace("10.1.0.11", "010.1.0.11"),
    UDP.replace("dport=53", "dport=65536"),
    UDP.replace("dport=53", "dport=-1"),
  ]) {
    assert.equal(parseLine(line, "IPv4"), undefined, line);
  }
  assert.equal(parseLine(UDP, "IPv6"), undefined);
});

test("parsing ends for any line", async () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(...UDP.split(" "), ...TCP.split(" "), "src=", "id=x"),
  );
  await forAll([fc.array(word), fc.constantFrom("IPv4", "IPv6")], (words, family) => {
    parseLine(["udp", ...words].join(" "), family);
  });
});

test("all clients of an endpoint are deleted by one call, and so is untranslated UDP", () => {
  const entry = parseLine(UDP, "IPv4");
  assert.ok(entry);
  const other = { ...entry, original: { ...entry.original, sourcePort: 4001 } };
  const plain = { ...entry.reply, source: "f100000a", sourcePort: 53 };
  const all = [entry, other, { ...entry, reply: plain }, { ...other, reply: plain }];
  const calls = (entries: Parameters<typeof deleteArguments>[0]) =>
    deleteArguments(entries).map((call) => call.join(" "));
  const common = (protocol: string) =>
    `-D -f ipv4 -p ${protocol} --orig-dst 241.0.0.10 --orig-port-dst 53`;
  const untranslated = "--reply-src 241.0.0.10 --reply-port-src 53";
  assert.deepEqual(calls(all), [
    `${common("udp")} --reply-src 10.1.0.11 --reply-port-src 8080`,
    `${common("udp")} ${untranslated}`,
  ]);
  assert.deepEqual(calls(all.map((one) => ({ ...one, protocol: "TCP" }))), [
    `${common("tcp")} --reply-src 10.1.0.11 --reply-port-src 8080`,
    `${common("tcp")} ${untranslated} --orig-src 10.1.0.13 --orig-port-src 4000`,
    `${common("tcp")} ${untranslated} --orig-src 10.1.0.13 --orig-port-src 4001`,
  ]);
  const tried = all
    .slice(0, 2)
    .map((one) => ({ ...one, protocol: "TCP", tcp: "SYN_SENT" }) as const);
  assert.deepEqual(calls(tried), [
    "-D -f ipv4 -p tcp --state SYN_SENT --orig-dst 241.0.0.10 --orig-port-dst 53 --reply-src 10.1.0.11 --reply-port-src 8080",
  ]);
  const zoned = deleteArguments([{ ...entry, zone: 7 }]);
  assert.deepEqual(zoned[0]?.slice(-2), ["-w", "7"]);
});

test("a filter becomes arguments", () => {
  const all = listArguments({ family: "IPv6" });
  assert.equal(all.join(" "), "-L -f ipv6 -o id");
  const one = listArguments({ family: "IPv4", protocol: "UDP", destination: "f100000a" });
  assert.equal(one.join(" "), "-L -f ipv4 -o id -p udp --orig-dst 241.0.0.10");
  const tried = listArguments({ family: "IPv4", protocol: "TCP", unanswered: true });
  assert.equal(tried.join(" "), "-L -f ipv4 -o id -p tcp --state SYN_SENT");
});
