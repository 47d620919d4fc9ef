import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { unexplained } from "../../scripts/build/native-part.ts";
import {
  buildFromSource,
  differences,
  NODE_ADDON_API,
  partAt,
  SOURCE,
} from "../../scripts/build/netlink-from-source.ts";

/** Why these tests cannot run; false if they can. Nothing else in this project needs a compiler. */
function cannotBuild(): string | false {
  for (const program of ["g++", "nm", "readelf", "objdump"]) {
    const { status } = spawnSync(program, ["--version"]);
    if (status !== 0) return `${program} is not installed`;
  }
  const { version } = JSON.parse(readFileSync(join(NODE_ADDON_API, "package.json"), "utf8"));
  const pinned = packageJson.overrides.netlink["node-addon-api"];
  return version === pinned ? false : `node-addon-api is ${version}, not ${pinned}: make prepare`;
}

describe("netlink's native part, built from its source", { skip: cannotBuild() }, () => {
  let folder: string;
  let built: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-netlink-"));
    built = buildFromSource(folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  test("explains all libraries, imports, functions and strings of the prebuilt ones", () => {
    assert.deepEqual(differences(built), []);
    assert.ok(partAt(built).functions.size > 300);
  });

  test("opens a socket", () => {
    assert.equal(loaded(folder), "open\n");
    // Nowhere else has netlink looked for it.
    assert.match(loaded(join(folder, "none")), /CSP_NETLINK_UNAVAILABLE/);
  });

  test("shows what a part does that has more than the source", () => {
    const source = join(folder, "more.cc");
    const more = 'void more() { system("curl 192.0.2.1"); asm("syscall"); }';
    writeFileSync(source, `#include "${SOURCE}"\n#include <stdlib.h>\n${more}\n`);
    const changed = partAt(buildFromSource(join(folder, "more"), source));
    const lines = unexplained(changed, partAt(built));
    const found = lines.map((line) => line.replace(/[0-9a-f]+:\s+/, ""));
    const expected = ["import system", "function _Z4morev", 'string "curl 192.0.2.1"'];
    assert.deepEqual(found, [...expected, "instruction syscall"]);
  });
});

/** What a program prints that loads netlink's native part from this folder. */
function loaded(from: string): string {
  const program = join(import.meta.dirname, "../packages/open-netlink.ts");
  const env = { ...process.env, NETLINK_PREBUILD: from };
  const { stdout, stderr } = spawnSync(process.execPath, [program], { env, encoding: "utf8" });
  return stdout + stderr;
}
