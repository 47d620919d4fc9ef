import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type Artefact, Builds } from "../../scripts/tests/builds.ts";

/** What tests with kubelets and with the virtual machine need. */
const TESTED: readonly Artefact[] = ["debian", "vm", "images", "clusters"];

mock.method(console, "log", () => undefined);

/** Commands that run, until each is ended. */
class Commands {
  readonly running = new Map<string, PromiseWithResolvers<void>>();
  readonly run = (argv: readonly string[]): Promise<void> => {
    const end = Promise.withResolvers<void>();
    this.running.set(argv.join(" "), end);
    return end.promise;
  };

  /** The only running command with this text. */
  async end(text: string, error?: Error): Promise<void> {
    const [name = "", ...more] = [...this.running.keys()].filter((each) => each.includes(text));
    assert.ok(name !== "" && more.length === 0, `${text}: ${[...this.running.keys()].join()}`);
    if (error === undefined) this.running.get(name)?.resolve();
    else this.running.get(name)?.reject(error);
    this.running.delete(name);
    await turn();
  }
}

async function begun(requested: readonly Artefact[]) {
  const commands = new Commands();
  const builds = new Builds(requested, commands.run);
  await turn();
  return { builds, commands };
}

test("Go's builds come one after the other beside the rest, and clusters wait for both", async () => {
  const { builds, commands } = await begun(TESTED);
  assert.equal(commands.running.size, 2);
  for (const text of ["debian", "disk", " images"]) await commands.end(text);
  assert.equal(commands.running.size, 1);
  await commands.end("kube-apiserver");
  await builds.ready("api-server");
  await commands.end("kubelet");
  await commands.end("coredns");
  await commands.end(" clusters");
  await builds.ready("clusters");
  // The caches of Go.
  await commands.end("test/kubernetes/build");
  await builds.done;
});

test("after a failure other artefacts are built, but not what needs it, and caches remain", async () => {
  const { builds, commands } = await begun(TESTED);
  await commands.end("kube-apiserver", new Error("no network"));
  await assert.rejects(builds.ready("api-server"), /api-server could not be built/);
  for (const text of ["kubelet", "coredns", "debian", "disk", " images"]) await commands.end(text);
  await builds.ready("images");
  await assert.rejects(builds.ready("clusters"), /clusters could not be built/);
  await assert.rejects(builds.done);
  assert.equal(commands.running.size, 0);
});

test("only what is requested is built, and what that needs", async () => {
  const { builds, commands } = await begun(["helm"]);
  assert.equal(commands.running.size, 1);
  await commands.end("helm");
  await builds.ready("helm");
  assert.throws(() => builds.ready("envoy"), /envoy was not requested/);
  assert.throws(() => builds.ready("api-server"), /api-server was not requested/);
});
