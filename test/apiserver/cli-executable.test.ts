import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { buildProgram } from "../../scripts/build/bundle.ts";
import { makeExecutable } from "../../scripts/build/executable.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControlPlane } from "./control-plane.ts";

const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const folder = mkdtempSync(join(tmpdir(), "cli-executable-"));

let plane: ControlPlane;
let user: CommandLine;
before(async () => {
  plane = await ControlPlane.start({});
  await plane.installCrds();
  const { admin } = plane;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await admin.apply(importObject("shop/web", ["241.0.0.1"], PORTS));
  await admin.apply(sliceObject("web-c2", "shop/web", { cluster: "c2" }, PORTS, ["10.2.0.1"]));
  user = new CommandLine({ c1: plane.inlineKubeconfig({ user: "admin" }) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await plane?.remove();
  rmSync(folder, { recursive: true });
});

test("the bundle for Node, and the executable that needs no Node, work like the sources", async () => {
  const [file] = (await buildProgram("cli", folder)) as [string];
  const executable = join(folder, "kubectl-clusterset");
  await makeExecutable(file, executable);
  const argv = ["simulate", "--without", "c2"];
  const expected = await user.run(...argv);
  assert.equal(expected.code, 4);
  assert.match(expected.out, /rejected \(no-endpoint\)/);
  // No PATH: neither finds a Node, or a kubectl.
  const env = { KUBECONFIG: user.kubeconfig };
  for (const [command, ...first] of [[process.execPath, file], [executable]] as [
    string,
    ...string[],
  ][]) {
    await assert.rejects(promisify(execFile)(command, [...first, ...argv], { env }), {
      code: expected.code,
      stdout: expected.out,
      stderr: "",
    });
  }
});
