import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CodedError } from "../../../common/errors.ts";
import { lackOfSwitches, type Switchboard, sentencesOf, setSwitches } from "./support.ts";

const CONNTRACK = "net.ipv4.vs.conntrack";
const NODEST = "net.ipv4.vs.expire_nodest_conn";
const TEMPLATE = "net.ipv4.vs.expire_quiescent_template";
const REUSE = "net.ipv4.vs.conn_reuse_mode";

/** A kernel just after the module was loaded; `stuck` cannot be written, and `late` are those of which that shows only then. */
function kernel(stuck: readonly string[] = [], late: readonly string[] = []) {
  const values = new Map([CONNTRACK, NODEST, TEMPLATE].map((name) => [name, "0"]));
  values.set(REUSE, "1").set("kernel.osrelease", "6.1.0-56-cloud-amd64");
  const writes: string[] = [];
  const refuse = (name: string) => {
    throw new CodedError("CSP_SETTING_REFUSED", `${name} cannot be set: /proc/sys is read-only`);
  };
  const board: Switchboard = {
    read: async (name) => values.get(name),
    try: async (name) => (stuck.includes(name) ? refuse(name) : undefined),
    write: async (name, value) => {
      writes.push(`${name}=${value}`);
      if (stuck.includes(name) || late.includes(name)) refuse(name);
      values.set(name, value);
    },
  };
  return { board, values, writes };
}

describe("setting switches", () => {
  test("those that are otherwise are set, and told; the others are not written", async () => {
    const { board, values, writes } = kernel();
    values.set(NODEST, "1");
    assert.deepEqual(await setSwitches(board), {
      lacks: [],
      changed: [
        { name: CONNTRACK, before: "0", after: "1" },
        { name: TEMPLATE, before: "0", after: "1" },
      ],
    });
    assert.deepEqual(writes, [`${CONNTRACK}=1`, `${TEMPLATE}=1`]);
    assert.deepEqual((await setSwitches(board)).changed, []);
  });

  test("all that cannot be set are named at once, with what goes wrong without, and what mends it", async () => {
    const { board, writes } = kernel([CONNTRACK, TEMPLATE]);
    const lacks = await lackOfSwitches(board);
    assert.deepEqual(
      lacks.map((one) => one.split(" ")[0]),
      [CONNTRACK, TEMPLATE],
    );
    assert.match(lacks[0] ?? "", /cannot be set: \/proc\/sys is read-only; it must be 1, or else/);
    assert.match(lacks[0] ?? "", /nothing can be masqueraded.*\/etc\/sysctl\.d/);
    assert.deepEqual(writes, []);
  });

  test("what is right already need not be writable", async () => {
    const { board, values } = kernel([CONNTRACK]);
    values.set(CONNTRACK, "1");
    assert.deepEqual(await lackOfSwitches(board), []);
  });

  test("if one cannot be set after all, those before it are put back", async () => {
    const { board, values } = kernel([], [TEMPLATE]);
    const { lacks, changed } = await setSwitches(board);
    assert.deepEqual(changed, []);
    assert.equal(lacks.length, 1);
    assert.match(lacks[0] ?? "", new RegExp(`^${TEMPLATE} cannot be set`));
    assert.deepEqual(
      [CONNTRACK, NODEST, TEMPLATE].map((name) => values.get(name)),
      ["0", "0", "0"],
    );
  });

  test("a kernel without a switch that is needed is told of, one without a newer one is not", async () => {
    const { board, values } = kernel([], []);
    values.delete(REUSE);
    assert.deepEqual(await lackOfSwitches(board), []);
    const gone = kernel([CONNTRACK]);
    gone.values.delete(CONNTRACK);
    assert.match((await lackOfSwitches(gone.board))[0] ?? "", new RegExp(`^${CONNTRACK} `));
  });
});

describe("what is missing", () => {
  test("without rights that is said once, with what was refused, and so is all else", () => {
    const said = sentencesOf([
      new CodedError(
        "CSP_IPVS_MISSING",
        "IPVS: the kernel does not offer it: the module ip_vs is not loaded",
      ),
      new CodedError(
        "CSP_NETLINK_FAILED",
        "netlink: device csp-ipvs0: making it: the kernel says EPERM",
      ),
      new CodedError(
        "CSP_EXEC_FAILED",
        "nft: exit status 1: Operation not permitted\nnetlink: Error: cache",
      ),
    ]);
    assert.deepEqual(said, [
      "The agent needs CAP_NET_ADMIN in the node's network: netlink: device csp-ipvs0: making it: the kernel says EPERM; nft: exit status 1: Operation not permitted netlink: Error: cache.",
      "IPVS: the kernel does not offer it: the module ip_vs is not loaded. Load it on the host: modprobe ip_vs ip_vs_rr.",
    ]);
  });

  test("each comes with what mends it", () => {
    const device = new CodedError(
      "CSP_NETLINK_FAILED",
      "netlink: device csp-ipvs0: the kernel says ENOTSUP",
    );
    assert.match(
      sentencesOf([device])[0] ?? "",
      /ENOTSUP\. Load the module on the host: modprobe dummy\.$/,
    );
    const tool = new CodedError("CSP_EXEC_MISSING", "nft is not installed");
    assert.deepEqual(sentencesOf([tool]), ["nft is not installed. Install nftables."]);
    assert.deepEqual(sentencesOf([]), []);
  });
});
