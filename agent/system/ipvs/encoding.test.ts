import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FAMILIES } from "../../../api/address.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { attribute, nested } from "../netlink/attributes.ts";
import { genericPayload } from "../netlink/generic.ts";
import * as encoding from "./encoding.ts";
import type { Destination, ListedDestination, Server } from "./object.ts";

const server: Server = {
  family: "IPv4",
  protocol: "TCP",
  address: "f1000001",
  port: 80,
  scheduler: "rr",
  flags: 0x20,
  timeout: 10,
};
const destination: Destination = { address: "0a01000b", port: 8080, weight: 1 };

/** Numbers and bytes by hand, from linux/ip_vs.h and linux/netlink.h. */
const NAME = [
  "0600 0100 0200 0000", // IPVS_SVC_ATTR_AF: AF_INET
  "0600 0200 0600 0000", // IPVS_SVC_ATTR_PROTOCOL: IPPROTO_TCP
  "1400 0300 f1000001 00000000 00000000 00000000", // IPVS_SVC_ATTR_ADDR
  "0600 0400 0050 0000", // IPVS_SVC_ATTR_PORT, in network byte order
];
const TERMS = [
  "0700 0600 727200 00", // IPVS_SVC_ATTR_SCHED_NAME
  "0c00 0700 20000000 ffffffff", // IPVS_SVC_ATTR_FLAGS
  "0800 0800 0a000000", // IPVS_SVC_ATTR_TIMEOUT
  "0800 0900 ffffffff", // IPVS_SVC_ATTR_NETMASK
];
const DESTINATION = [
  "1400 0100 0a01000b 00000000 00000000 00000000", // IPVS_DEST_ATTR_ADDR
  "0600 0200 1f90 0000", // IPVS_DEST_ATTR_PORT
  "0800 0300 00000000", // IPVS_DEST_ATTR_FWD_METHOD: IP_VS_CONN_F_MASQ
  "0800 0400 01000000", // IPVS_DEST_ATTR_WEIGHT
  "0800 0500 00000000", // IPVS_DEST_ATTR_U_THRESH
  "0800 0600 00000000", // IPVS_DEST_ATTR_L_THRESH
  "0600 0b00 0200 0000", // IPVS_DEST_ATTR_ADDR_FAMILY
];

function bytes(...words: readonly string[]): string {
  return words.join("").replaceAll(" ", "");
}

const hexOf = (command: Parameters<typeof encoding.encodeCommand>[0]) =>
  encoding.encodeCommand(command).toString("hex");

describe("messages of IPVS", () => {
  test("a new server, byte by byte", () => {
    const written = hexOf({ kind: "new-server", server });
    assert.equal(written, bytes("01 01 0000", "5400 0180", ...NAME, ...TERMS));
  });

  test("a destination, byte by byte", () => {
    const name = ["06 01 0000", "3000 0180", ...NAME];
    const written = hexOf({ kind: "set-destination", server, destination });
    assert.equal(written, bytes(...name, "4800 0280", ...DESTINATION));
  });

  test("requests to delete or list contain only the name", () => {
    const name = bytes("3000 0180", ...NAME);
    assert.equal(hexOf({ kind: "delete-server", server }), bytes("03 01 0000", name));
    assert.equal(
      encoding.encodeDestinationsRequest(server).toString("hex"),
      bytes("08 01 0000", name),
    );
  });

  test("the TCP timeout is set alone and read among others", () => {
    assert.equal(
      encoding.encodeTcpTimeout(7200).toString("hex"),
      bytes("0c 01 0000", "0800 0400 201c0000"),
    );
    assert.equal(encoding.encodeTimeoutsRequest().toString("hex"), bytes("0d 01 0000"));
    const told = ["0800 0400 84030000", "0800 0500 78000000", "0800 0600 2c010000"];
    const answer = (...parts: readonly string[]) =>
      encoding.decodeTcpTimeout(Buffer.from(bytes("0c 01 0000", ...parts), "hex"));
    assert.equal(answer(...told), 900);
    assert.equal(answer(...told.slice(1)), undefined);
    assert.equal(answer("0600 0400 8403 0000"), undefined);
  });

  test("an IPv6 server is masked by its length in bits", () => {
    const v6: Server = { ...server, family: "IPv6", address: `fd${"0".repeat(29)}1` };
    const written = encoding.encodeCommand({ kind: "new-server", server: v6 });
    assert.ok(written.toString("hex").endsWith(bytes("0800 0900 80000000")));
    assert.deepEqual(encoding.decodeServer(written), v6);
  });

  const port = fc.integer({ min: 1, max: 65535 });
  const hex = (digits: number) =>
    fc
      .uint8Array({ minLength: digits / 2, maxLength: digits / 2 })
      .map((some) => Buffer.from(some).toString("hex"));
  const family = fc.constantFrom(...FAMILIES);
  const addressed = family.chain((one) =>
    fc.record({ family: fc.constant(one), address: hex(one === "IPv4" ? 8 : 32) }),
  );

  test("any server is read as it was written", async () => {
    const terms = fc.record({
      protocol: fc.constantFrom(...PROTOCOLS),
      port,
      scheduler: fc.stringMatching(/^[a-z]{1,15}$/),
      // All but the one that the kernel adds.
      flags: fc.nat(0x7fffffff).map((bits) => bits & ~2),
      timeout: fc.nat(86400),
    });
    await forAll([addressed, terms], (name, rest) => {
      const any: Server = { ...name, ...rest };
      assert.deepEqual(
        encoding.decodeServer(encoding.encodeCommand({ kind: "set-server", server: any })),
        any,
      );
    });
  });

  test("any destination of the kernel is read", async () => {
    const counts = fc.record({
      active: fc.nat(),
      inactive: fc.nat(),
      total: fc.bigInt(0n, 2n ** 64n - 1n),
    });
    const place = fc.record({ port, weight: fc.nat(65535) });
    await forAll([addressed, place, counts], (name, rest, { active, inactive, total }) => {
      const one: Destination = { address: name.address, ...rest };
      const reply = destinationReply({ ...server, ...name }, one, { active, inactive, total });
      const told: ListedDestination = { ...one, plain: true, active, inactive, total };
      assert.deepEqual(encoding.decodeDestination(reply, name.family), told);
      const other = name.family === "IPv4" ? "IPv6" : "IPv4";
      assert.equal(encoding.decodeDestination(reply, other), undefined);
    });
  });

  test("reading ends for any bytes", () =>
    forAll([fc.uint8Array({ maxLength: 200 })], (some) => {
      encoding.decodeServer(Buffer.from(some));
      encoding.decodeDestination(Buffer.from(some), "IPv6");
    }));

  test("a truncated message is neither a server nor a destination", () => {
    const whole = encoding.encodeCommand({ kind: "new-server", server });
    const reply = destinationReply(server, destination, { active: 1, inactive: 2, total: 3n });
    for (let i = 0; i < whole.length; i++) {
      assert.equal(encoding.decodeServer(whole.subarray(0, i)), undefined);
    }
    for (let i = 0; i < reply.length; i++) {
      assert.equal(encoding.decodeDestination(reply.subarray(0, i), "IPv4"), undefined);
    }
  });

  test("the flag that the kernel adds to a server is removed", () => {
    const hashed = encoding.encodeCommand({
      kind: "new-server",
      server: { ...server, flags: 0x22 },
    });
    assert.equal(encoding.decodeServer(hashed)?.flags, 0x20);
  });

  test("a destination by a tunnel, or with a threshold, is not plain", () => {
    const counts = { active: 0, inactive: 0, total: 0n };
    const direct = destinationReply(server, destination, counts, attribute(3, word(3)));
    assert.equal(encoding.decodeDestination(direct, "IPv4")?.plain, false);
    const limited = destinationReply(server, destination, counts, attribute(5, word(9)));
    assert.equal(encoding.decodeDestination(limited, "IPv4")?.plain, false);
  });
});

/** What the kernel reports of a destination; `more` replaces attributes before it. */
function destinationReply(
  { family }: Server,
  { address, port, weight }: Destination,
  { active, inactive, total }: { active: number; inactive: number; total: bigint },
  ...more: readonly Buffer[]
): Buffer {
  const big = Buffer.alloc(2);
  big.writeUInt16BE(port);
  const connections = Buffer.alloc(8);
  connections.writeBigUInt64LE(total);
  return genericPayload(
    5,
    1,
    nested(
      2,
      attribute(1, Buffer.from(address.padEnd(32, "0"), "hex")),
      attribute(2, big),
      attribute(3, word(0)),
      attribute(4, word(weight)),
      attribute(5, word(0)),
      attribute(6, word(0)),
      attribute(7, word(active)),
      attribute(8, word(inactive)),
      attribute(9, word(0)),
      attribute(11, Buffer.of(family === "IPv4" ? 2 : 10, 0)),
      ...more,
      nested(12, attribute(1, connections)),
    ),
  );
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
