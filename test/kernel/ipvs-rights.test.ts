import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { AGENT } from "../stages/agent-process.ts";

const folder = mkdtempSync(join(tmpdir(), "ipvs-rights-"));
after(() => rmSync(folder, { recursive: true }));

/** Runs the agent in a network of its own, as root without the right to configure it, and gives how it ended. */
function runWithoutRights(): Promise<{ code: unknown; log: string }> {
  const without = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "--"];
  const flags = ["--backend", "ipvs", "--manifests", folder, "--http-address", "off"];
  const lock = ["--lock-file", join(folder, "lock"), "--cluster-id", "c1"];
  const argv = ["-n", ...without, AGENT, "run", ...flags, ...lock];
  return new Promise((resolve) => {
    execFile("unshare", argv, { timeout: 30_000 }, (error, _stdout, log) => {
      resolve({ code: error?.code, log });
    });
  });
}

test("IPVS without the right to configure the network: the agent ends, and logs the missing right and its purpose", async () => {
  const { code, log } = await runWithoutRights();
  assert.equal(code, 1);
  const last = JSON.parse(log.trim().split("\n").at(-1) ?? "{}");
  assert.equal(last.error.code, "CSP_BACKEND_UNUSABLE");
  assert.equal(last.error.message.split("CAP_NET_ADMIN").length, 2, "the right is named once");
  assert.match(last.error.message, /device csp-ipvs0.* EPERM; nft .*Operation not permitted/);
});
