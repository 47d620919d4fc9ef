import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addressesOf } from "./dummy-device.ts";
import { encodeAddress } from "./encoding.ts";

const [ONE, TWO] = ["f1000001", "f1000002"];
const OURS = 7;

/** The addresses that are read if the kernel answers each dump with these, and all later ones with the last; and the number of dumps. */
async function read(dumps: readonly { addresses: readonly string[]; interrupted: boolean }[]) {
  let asked = 0;
  const dump = async (_type: number, _payload: Uint8Array, onData: (payload: Buffer) => void) => {
    const { addresses, interrupted } = dumps[Math.min(asked, dumps.length - 1)] ?? assert.fail();
    asked++;
    for (const address of addresses) {
      onData(encodeAddress({ index: OURS, family: "IPv4", address }));
      onData(encodeAddress({ index: OURS + 1, family: "IPv4", address: "7f000001" }));
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
