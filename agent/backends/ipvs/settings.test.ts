import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isRight, type Release, releaseOf, SETTINGS, type Setting } from "./settings.ts";

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
