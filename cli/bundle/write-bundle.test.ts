import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { StaticApiServer } from "../../test/doubles/static-api-server.ts";
import { CommandLine } from "../../test/stages/command-line.ts";

test("names that an API server answers lead to no file outside of the archive's folders, and end no bundle", async () => {
  const namespace = "clusterset-proxy";
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  const names = ["..", "a\u001b[2K\nb", "x".repeat(250)];
  await using server = await StaticApiServer.start({
    objects: {
      pods: names.map((name) => ({ apiVersion: "v1", metadata: { namespace, name, labels } })),
    },
  });
  using user = new CommandLine({ one: server.kubeconfig });
  const folder = mkdtempSync(join(tmpdir(), "csp-bundle-"));
  try {
    const file = join(folder, "bundle.tar.gz");
    const { code, note } = await user.run("bundle", "-f", file);
    assert.equal(code, 3, note);
    const paths = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
    for (const path of paths) {
      assert.match(path, /^[\w./-]+$/);
      assert.ok(!path.split("/").includes(".."), path);
    }
    assert.ok(paths.includes("1-one/logs/a__2K_b.log"), paths.join("\n"));
    assert.ok(paths.includes("contents.txt"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
