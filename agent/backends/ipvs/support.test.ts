import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CodedError } from "../../../common/errors.ts";
import { isRight, type Release, releaseOf, SETTINGS, type Setting } from "./settings.ts";
import { type Sysctls, sentencesOf, setSysctls, unwritableSysctls } from "./support.ts";

function setting(name: string): Setting {
  const found = SETTINGS.find((one) => one.name === `net.ipv4.vs.${name}`);
  if (found === undefined) throw new Error(`no setting ${name}`);
  return found;
}

describe("sysctls", () => {
  test("a reused client port may keep its destination only on kernels that handle it", () => {
    const reuse = setting("conn_reuse_mode");
    const releases: (readonly [Release, boolean])[] = [
      [[5, 10], false],
      [[5, 15], false],
      [[5, 16], true],
      [[6, 1], true],
    ];
    for (const [release, asGood] of releases) {
      assert.equal(isRight(reuse, "0", release), asGood, release.join("."));
      for (const value of ["1", "2", "3"]) assert.equal(isRight(reuse, value, release), true);
      assert.equal(isRight(reuse, undefined, release), true);
    }
  });

  test("a sysctl without alternatives must exist and have its value", () => {
    for (const value of ["0", "2", undefined]) {
      assert.equal(isRight(setting("conntrack"), value, [6, 1]), false);
    }
    assert.equal(isRight(setting("conntrack"), "1", [6, 1]), true);
  });

  test("all belong to IPVS; no other sysctl of the node is changed", () => {
    for (const { name } of SETTINGS) assert.match(name, /^net\.ipv4\.vs\./);
  });

  test("releases are read as uname prints them", () => {
    assert.deepEqual(releaseOf("6.1.0-56-cloud-amd64\n"), [6, 1]);
    assert.deepEqual(releaseOf("5.4-rc3"), [5, 4]);
    assert.deepEqual(releaseOf("what"), [999, 0]);
    assert.deepEqual(releaseOf(undefined), [999, 0]);
  });
});

const CONNTRACK = "net.ipv4.vs.conntrack";
const NODEST = "net.ipv4.vs.expire_nodest_conn";
const TEMPLATE = "net.ipv4.vs.expire_quiescent_template";
const REUSE = "net.ipv4.vs.conn_reuse_mode";

/** The sysctls just after ip_vs was loaded. `stuck` cannot be written; nor can `late`, which only writing them shows. */
function kernel(stuck: readonly string[] = [], late: readonly string[] = []) {
  const values = new Map([CONNTRACK, NODEST, TEMPLATE].map((name) => [name, "0"]));
  values.set(REUSE, "1").set("kernel.osrelease", "6.1.0-56-cloud-amd64");
  const writes: string[] = [];
  const refuse = (name: string) => {
    throw new CodedError("CSP_SETTING_REFUSED", `${name} cannot be set: /proc/sys is read-only`);
  };
  const sysctls: Sysctls = {
    read: async (name) => values.get(name),
    try: async (name) => (stuck.includes(name) ? refuse(name) : undefined),
    write: async (name, value) => {
      writes.push(`${name}=${value}`);
      if (stuck.includes(name) || late.includes(name)) refuse(name);
      values.set(name, value);
    },
  };
  return { sysctls, values, writes };
}

describe("setting sysctls", () => {
  test("sets and reports the sysctls with a wrong value, and does not write the others", async () => {
    const { sysctls, values, writes } = kernel();
    values.set(NODEST, "1");
    assert.deepEqual(await setSysctls(sysctls), {
      lacks: [],
      changed: [
        { name: CONNTRACK, before: "0", after: "1" },
        { name: TEMPLATE, before: "0", after: "1" },
      ],
    });
    assert.deepEqual(writes, [`${CONNTRACK}=1`, `${TEMPLATE}=1`]);
    assert.deepEqual((await setSysctls(sysctls)).changed, []);
  });

  test("names all sysctls that cannot be set together, with the consequence and the fix", async () => {
    const { sysctls, writes } = kernel([CONNTRACK, TEMPLATE]);
    const lacks = await unwritableSysctls(sysctls);
    assert.deepEqual(
      lacks.map((one) => one.split(" ")[0]),
      [CONNTRACK, TEMPLATE],
    );
    assert.match(lacks[0] ?? "", /cannot be set: \/proc\/sys is read-only; it must be 1, or else/);
    assert.match(lacks[0] ?? "", /cannot be masqueraded.*\/etc\/sysctl\.d/);
    assert.deepEqual(writes, []);
  });

  test("a sysctl with the right value need not be writable", async () => {
    const { sysctls, values } = kernel([CONNTRACK]);
    values.set(CONNTRACK, "1");
    assert.deepEqual(await unwritableSysctls(sysctls), []);
  });

  test("restores those before one that cannot be set", async () => {
    const { sysctls, values } = kernel([], [TEMPLATE]);
    const { lacks, changed } = await setSysctls(sysctls);
    assert.deepEqual(changed, []);
    assert.equal(lacks.length, 1);
    assert.match(lacks[0] ?? "", new RegExp(`^${TEMPLATE} cannot be set`));
    assert.deepEqual(
      [CONNTRACK, NODEST, TEMPLATE].map((name) => values.get(name)),
      ["0", "0", "0"],
    );
  });

  test("names a missing sysctl that is needed, but not one that only newer kernels have", async () => {
    const { sysctls, values } = kernel([], []);
    values.delete(REUSE);
    assert.deepEqual(await unwritableSysctls(sysctls), []);
    const gone = kernel([CONNTRACK]);
    gone.values.delete(CONNTRACK);
    assert.match((await unwritableSysctls(gone.sysctls))[0] ?? "", new RegExp(`^${CONNTRACK} `));
  });
});

describe("what is missing", () => {
  test("missing rights are one sentence, with everything that was rejected for them", () => {
    const said = sentencesOf([
      new CodedError("CSP_IPVS_MISSING", "IPVS: not available: the module ip_vs is not loaded"),
      new CodedError("CSP_NETLINK_FAILED", "netlink: device csp-ipvs0: create: EPERM"),
      new CodedError(
        "CSP_EXEC_FAILED",
        "nft: exit status 1: Operation not permitted\nnetlink: Error: cache",
      ),
    ]);
    assert.deepEqual(said, [
      "The agent needs CAP_NET_ADMIN in the node's network: netlink: device csp-ipvs0: create: EPERM; nft: exit status 1: Operation not permitted netlink: Error: cache.",
      "IPVS: not available: the module ip_vs is not loaded. Load it on the host: modprobe ip_vs ip_vs_wrr.",
    ]);
  });

  test("each comes with a fix", () => {
    const device = new CodedError(
      "CSP_NETLINK_FAILED",
      "netlink: device csp-ipvs0: create: ENOTSUP",
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
