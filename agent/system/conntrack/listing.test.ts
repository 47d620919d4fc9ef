import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { deleteArguments, listArguments, parseLine } from "./listing.ts";

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
