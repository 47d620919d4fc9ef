import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { withForward } from "../../cli/install/dns.ts";

const NAMES = join(import.meta.dirname, "../../deploy/coredns/names");

/** Stands for kubectl: a CoreDNS with $IMAGE, and a log of the commands that change something. */
const KUBECTL = `#!/bin/sh
case "$*" in
  *"get configmap"*) echo ".:53 { }"; printf "%s" "$OTHERS" ;;
  *"get deployment"*) echo "$IMAGE" ;;
  *"get service clusterset-dns"*) echo "$ADDRESS" ;;
  *"create configmap"*) tee "$LOG.corefile" ;;
  *) cat >/dev/null; echo "$*" >>"$LOG" ;;
esac
`;

/** What deploy/coredns/names changes in a cluster with this CoreDNS, and what it says if it fails. */
async function added(
  image: string,
  verb = "add",
  address = "",
  others = "",
): Promise<{ changes: string; corefile?: string; error?: string }> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "names-"));
  const directory = folder.path;
  const log = join(directory, "log");
  writeFileSync(log, "");
  writeFileSync(join(directory, "kubectl"), KUBECTL, { mode: 0o755 });
  const PATH = `${directory}:${process.env.PATH}`;
  const env = { PATH, IMAGE: image, ADDRESS: address, OTHERS: others, LOG: log };
  try {
    const done = promisify(execFile)(NAMES, [verb, "c1"], { env });
    done.child.stdin?.end();
    await done;
    const corefile = readFileSync(`${log}.corefile`, "utf8");
    return { changes: readFileSync(log, "utf8"), corefile };
  } catch (error) {
    return { changes: readFileSync(log, "utf8"), error: (error as { stderr: string }).stderr };
  }
}

test("deploy/coredns/names changes nothing where CoreDNS is too old, and names the image and the version", async () => {
  const eks = "eks/coredns:v1.11.4-eksbuild.2";
  for (const image of ["coredns:v1.12.1", eks, "r:5000/c:1.9.3@sha256:1"]) {
    const { changes, error } = await added(image);
    assert.equal(changes, "", image);
    assert.match(error ?? "", new RegExp(`^names: ${image} .*1\\.12\\.2`));
  }
});

test("with a CoreDNS that serves clusterset.local, or whose version is not known, it adds the block and restarts it", async () => {
  for (const image of ["coredns:v1.12.2", "coredns:1.14.0", "r:5000/c@sha256:1", "c:latest"]) {
    const { changes, error } = await added(image);
    assert.equal(error, undefined);
    assert.match(changes, /patch configmap coredns[\s\S]*rollout restart/, image);
  }
});

test("forward: any CoreDNS gets the block that join writes, with the address of deploy/coredns/own, and none without an address", async () => {
  const { changes, corefile, error } = await added("coredns:v1.8.0", "forward", "10.96.0.53");
  assert.equal(error, undefined);
  assert.match(changes, /patch configmap coredns[\s\S]*rollout restart/);
  assert.equal(corefile, withForward(".:53 { }", "10.96.0.53"));
  const without = await added("coredns:v1.8.0", "forward");
  assert.equal(without.changes, "");
  assert.match(without.error ?? "", /^names: .*clusterset-dns has no address/);
});

test("a Corefile with another block for the zone stays as it is: CoreDNS does not start with two", async () => {
  for (const key of ["clusterset.local:53", "clusterset.local", "a.example:53 clusterset.local:53"])
    for (const verb of ["add", "forward"]) {
      const others = `${key} {\n    forward . 10.1.2.3\n}\n`;
      const { changes, error } = await added("coredns:v1.14.0", verb, "10.96.0.53", others);
      assert.equal(changes, "", key);
      assert.match(error ?? "", /^names: .*another block for clusterset\.local/);
    }
  const plugin = ".:54 {\n    kubernetes cluster.local clusterset.local {\n    }\n}\n";
  assert.equal((await added("coredns:v1.14.0", "add", "", plugin)).error, undefined);
});
