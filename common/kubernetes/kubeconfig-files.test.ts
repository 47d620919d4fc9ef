import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { contextNames, kubeconfigFiles, mergedKubeconfig } from "./kubeconfig-files.ts";

const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
after(() => rmSync(directory, { recursive: true }));

function write(name: string, config: object): string {
  const path = join(directory, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const named = (name: string, part: string, value: object) => ({ name, [part]: value });
const FIRST = write("a/config", {
  clusters: [named("one", "cluster", { server: "https://one", "certificate-authority": "ca.crt" })],
  users: [named("ann", "user", { tokenFile: "token", exec: { command: "./login" } })],
  contexts: [named("one", "context", { cluster: "one", user: "ann" })],
});
const SECOND = write("b/config", {
  "current-context": "two",
  clusters: [named("one", "cluster", { server: "https://other" })],
  users: [named("bob", "user", { exec: { command: "login" } })],
  contexts: [named("two", "context", { cluster: "one", user: "bob" })],
});

test("of entries with one name, that of the first file counts, and paths are relative to their file", () => {
  const merged = mergedKubeconfig({ files: [FIRST, SECOND] });
  const ca = join(directory, "a/ca.crt");
  assert.deepEqual(merged.clusters, [
    named("one", "cluster", { server: "https://one", "certificate-authority": ca }),
  ]);
  assert.deepEqual(merged.users, [
    named("ann", "user", {
      tokenFile: join(directory, "a/token"),
      exec: { command: join(directory, "a/login") },
    }),
    named("bob", "user", { exec: { command: "login" } }),
  ]);
  assert.equal(merged["current-context"], "two");
  assert.deepEqual(contextNames(merged), ["one", "two"]);
});

test("a context that no file has is an error that names those that there are", () => {
  const options = { files: [FIRST, SECOND], context: "three" };
  assert.throws(() => mergedKubeconfig(options), {
    code: "CSP_KUBECONFIG",
    message: /"three".*one, two/,
  });
  assert.equal(mergedKubeconfig({ files: [FIRST], context: "one" })["current-context"], "one");
});

test("a file that is missing or no YAML is an error that names it", () => {
  const missing = join(directory, "none");
  assert.throws(() => mergedKubeconfig({ files: [missing] }), {
    code: "CSP_KUBECONFIG",
    message: /none/,
  });
  const broken = join(directory, "broken");
  writeFileSync(broken, "a: [");
  assert.throws(() => mergedKubeconfig({ files: [broken] }), {
    code: "CSP_KUBECONFIG",
    message: /broken/,
  });
});

test("the files are those of the flag, else those of KUBECONFIG that exist, else the user's own", () => {
  assert.deepEqual(kubeconfigFiles("x", `${FIRST}`, "/home/ann"), ["x"]);
  const variable = [FIRST, join(directory, "none"), "", SECOND].join(":");
  assert.deepEqual(kubeconfigFiles(undefined, variable, "/home/ann"), [FIRST, SECOND]);
  assert.deepEqual(kubeconfigFiles(undefined, undefined, "/home/ann"), ["/home/ann/.kube/config"]);
});
