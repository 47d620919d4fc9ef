import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { PROTOCOLS } from "../../api/protocol.ts";
import { Lab } from "../lab/lab.ts";

const LIMITS = `${import.meta.dirname}/../../agent/backends/ipvs/limits.ts`;
/** Emulation is slow. */
const TIMEOUT = 60_000;

/** Prints the limits of a family in the network namespace of its process. */
const program = (family: string) => `
  import { ProtocolTrials } from ${JSON.stringify(LIMITS)};
  const { affinity, protocols } = await new ProtocolTrials("rr").limits("${family}");
  console.log(JSON.stringify({ affinity, protocols: [...protocols] }));
`;

describe("limits of IPVS on a stock kernel", () => {
  let lab: Lab;
  before(async () => {
    lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
  });
  after(() => lab.remove());

  for (const family of FAMILIES) {
    test(`${family}: none, and testing leaves no virtual server behind`, async () => {
      const node = lab.node("c1", "n1");
      const argv = [process.execPath, "--input-type=module", "-e", program(family)];
      const { code, stdout, stderr } = await node.run(argv, { timeout: TIMEOUT });
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), { affinity: true, protocols: PROTOCOLS });
      assert.equal(await node.exec(["ipvsadm", "-Sn"]), "");
    });
  }
});
