import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { addressesOf } from "./dummy-device.ts";
import * as encoding from "./encoding.ts";

function bytes(...words: readonly string[]): string {
  return words.join("").replaceAll(" ", "");
}

describe("messages of rtnetlink", () => {
  test("a dummy device, byte by byte", () => {
    assert.equal(
      encoding.encodeDummy("csp-ipvs0").toString("hex"),
      bytes(
        "00 00 0000 00000000 01000000 01000000", // struct ifinfomsg: IFF_UP, and that alone
        "0e00 0300 6373702d6970767330 00 0000", // IFLA_IFNAME
        "1000 1280 0a00 0100 64756d6d79 00 0000", // IFLA_LINKINFO, IFLA_INFO_KIND
      ),
    );
  });

  test("an address, byte by byte: as /32 or /128, without a prefix route", () => {
    assert.equal(
      encoding.encodeAddress({ index: 7, family: "IPv4", address: "f1000001" }).toString("hex"),
      bytes(
        "02 20 00 00 07000000", // struct ifaddrmsg
        "0800 0200 f1000001", // IFA_LOCAL
        "0800 0100 f1000001", // IFA_ADDRESS
        "0800 0800 00020000", // IFA_FLAGS: IFA_F_NOPREFIXROUTE
      ),
    );
    // And for IPv6 without duplicate address detection, and with no time in which it is preferred.
    const v6 = encoding.encodeAddress({ index: 7, family: "IPv6", address: "fd".padEnd(32, "0") });
    assert.ok(
      v6
        .toString("hex")
        .endsWith(bytes("0800 0800 02020000", "1400 0600 00000000 ffffffff 00000000 00000000")),
    );
  });

  test("a device is read: its index, and whether it is up", () => {
    const dummy = encoding.encodeDummy("csp-ipvs0");
    dummy.writeInt32LE(12, 4);
    assert.deepEqual(encoding.decodeLink(dummy), { index: 12, up: true });
    assert.deepEqual(encoding.decodeLink(encoding.encodeLinkName("eth0")), { index: 0, up: false });
    assert.equal(encoding.decodeLink(Buffer.alloc(8)), undefined);
  });

  test("any address is read as it was written", async () => {
    const index = fc.integer({ min: 1, max: 0x7fffffff });
    const hex = (size: number) =>
      fc
        .uint8Array({ minLength: size, maxLength: size })
        .map((some) => Buffer.from(some).toString("hex"));
    const v4 = fc.record({ index, family: fc.constant("IPv4" as const), address: hex(4) });
    const v6 = fc.record({ index, family: fc.constant("IPv6" as const), address: hex(16) });
    await forAll([fc.oneof(v4, v6)], (one: encoding.LinkAddress) => {
      assert.deepEqual(encoding.decodeAddress(encoding.encodeAddress(one)), { ...one });
    });
  });

  test("reading ends for any bytes", () =>
    forAll([fc.uint8Array({ maxLength: 120 })], (some) => {
      encoding.decodeLink(Buffer.from(some));
      encoding.decodeAddress(Buffer.from(some));
    }));
});

const [ONE, TWO] = ["f1000001", "f1000002"];
const OURS = 7;

/** The addresses that are read if the kernel answers each dump with these, and all later ones with the last; and the number of dumps. */
async function read(dumps: readonly { addresses: readonly string[]; interrupted: boolean }[]) {
  let asked = 0;
  const dump = async (_type: number, _payload: Uint8Array, onData: (payload: Buffer) => void) => {
    const { addresses, interrupted } = dumps[Math.min(asked, dumps.length - 1)] ?? assert.fail();
    asked++;
    for (const address of addresses) {
      onData(encoding.encodeAddress({ index: OURS, family: "IPv4", address }));
      onData(encoding.encodeAddress({ index: OURS + 1, family: "IPv4", address: "7f000001" }));
    }
    return interrupted;
  };
  return { found: await addressesOf({ dump }, OURS, "IPv4"), asked };
}

describe("addresses of a device", () => {
  test("are those of its index only", async () => {
    const { found } = await read([{ addresses: [ONE, TWO], interrupted: false }]);
    assert.deepEqual(found, [ONE, TWO]);
  });

  test("are dumped again if interfaces changed meanwhile, each listed once", async () => {
    const { found, asked } = await read([
      { addresses: [ONE], interrupted: true },
      { addresses: [ONE, TWO], interrupted: false },
    ]);
    assert.deepEqual(found, [ONE, TWO]);
    assert.equal(asked, 2);
  });

  test("are those of the last dump if interfaces never stop changing", async () => {
    const { found, asked } = await read([{ addresses: [ONE], interrupted: true }]);
    assert.deepEqual({ found, asked }, { found: [ONE], asked: 5 });
  });
});
