import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const NAMES = join(import.meta.dirname, "../../deploy/coredns/names");

/** Stands for kubectl: a CoreDNS with $IMAGE, and a log of the commands that change something. */
const KUBECTL = `#!/bin/sh
case "$*" in
  *"get configmap"*) echo ".:53 { }" ;;
  *"get deployment"*) echo "$IMAGE" ;;
  *"create configmap"*) cat ;;
  *) cat >/dev/null; echo "$*" >>"$LOG" ;;
esac
`;

/** What deploy/coredns/names changes in a cluster with this CoreDNS, and what it says if it fails. */
async function added(image: string): Promise<{ changes: string; error?: string }> {
  const directory = mkdtempSync(join(tmpdir(), "names-"));
  const log = join(directory, "log");
  writeFileSync(log, "");
  writeFileSync(join(directory, "kubectl"), KUBECTL, { mode: 0o755 });
  const env = { PATH: `${directory}:${process.env.PATH}`, IMAGE: image, LOG: log };
  try {
    const done = promisify(execFile)(NAMES, ["add", "c1"], { env });
    done.child.stdin?.end();
    await done;
    return { changes: readFileSync(log, "utf8") };
  } catch (error) {
    return { changes: readFileSync(log, "utf8"), error: (error as { stderr: string }).stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("deploy/coredns/names changes nothing where CoreDNS is too old, and names the image and the version", async () => {
  for (const image of [
    "coredns:v1.12.1",
    "eks/coredns:v1.11.4-eksbuild.2",
    "r:5000/c:1.9.3@sha256:1",
  ]) {
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
