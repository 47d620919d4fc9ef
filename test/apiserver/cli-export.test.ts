import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CommandLine } from "../stages/command-line.ts";
import { kubernetesCommand } from "./commands.ts";
import { ControlPlane } from "./control-plane.ts";
import { EXPORT } from "./controller-stage.ts";

const PLUGIN = fileURLToPath(new URL("../../bin/kubectl-clusterset", import.meta.url));
const run = promisify(execFile);

let plane: ControlPlane;
let user: CommandLine;
before(async () => {
  plane = await ControlPlane.start({});
  await plane.installCrds();
  const { admin } = plane;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const [name, team] of [
    ["web", "a"],
    ["api", "a"],
    ["db", "b"],
  ] as const) {
    const metadata = { namespace: "shop", name, labels: { team } };
    await admin.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { ports: [{ port: 80 }] },
    });
  }
  user = new CommandLine({ c1: plane.inlineKubeconfig({ user: "admin" }) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await plane?.remove();
});

async function isExported(name: string): Promise<boolean> {
  return (
    (await plane.admin.find({ ...EXPORT, metadata: { namespace: "shop", name } })) !== undefined
  );
}

test("Services are exported and withdrawn by name or label; a second time changes nothing", async () => {
  const one = await user.run("export", "shop/web");
  assert.deepEqual([one.code, one.out], [0, "c1: serviceexport/web in shop created\n"]);
  const both = await user.run("export", "-n", "shop", "-l", "team=a");
  assert.match(both.out, /serviceexport\/api in shop created\n/);
  assert.match(both.out, /serviceexport\/web in shop unchanged\n/);
  assert.equal(await isExported("db"), false);
  const gone = await user.run("unexport", "web", "-n", "shop");
  assert.equal(gone.out, "c1: serviceexport/web in shop deleted\n");
  assert.equal(await isExported("web"), false);
  assert.equal(
    (await user.run("unexport", "shop/web")).out,
    "c1: serviceexport/web in shop not found\n",
  );
});

test("a dry run writes nothing; a Service that does not exist, or no Service at all, is an error", async () => {
  const dry = await user.run("export", "shop/db", "--dry-run");
  assert.equal(dry.out, "c1: serviceexport/db in shop created (dry run)\n");
  assert.equal(await isExported("db"), false);
  const missing = await user.run("export", "shop/none");
  assert.equal(missing.code, 1);
  assert.match(missing.note, /^error: c1: there is no Service shop\/none/);
  assert.equal((await user.run("export")).code, 2);
  assert.equal((await user.run("export", "web", "-l", "a=b")).code, 2);
});

test("kubectl runs the plugin, and completes its commands", async () => {
  const directory = mkdtempSync(join(tmpdir(), "plugin-"));
  try {
    symlinkSync(PLUGIN, join(directory, "kubectl-clusterset"));
    const kubectl = kubernetesCommand("kubectl");
    const PATH = [directory, dirname(kubectl), process.env.PATH].join(delimiter);
    const KUBECACHEDIR = join(directory, "cache");
    const env = { ...process.env, PATH, KUBECONFIG: user.kubeconfig, KUBECACHEDIR };
    const script = await run(kubectl, ["clusterset", "completion", "--kubectl"], { env });
    writeFileSync(join(directory, "kubectl_complete-clusterset"), script.stdout, { mode: 0o755 });
    const completed = await run(kubectl, ["__complete", "clusterset", "dra"], { env });
    assert.match(completed.stdout, /^drain\n/);
    const values = await run(
      kubectl,
      ["__complete", "clusterset", "drain", "c1", "--context", ""],
      { env },
    );
    assert.match(values.stdout, /^c1\n/);
    const bash = await run(
      "bash",
      [
        "-c",
        `eval "$(kubectl-clusterset completion bash)"; COMP_WORDS=(kubectl-clusterset dr); COMP_CWORD=1; _kubectl_clusterset; echo "$COMPREPLY"`,
      ],
      { env },
    );
    assert.equal(bash.stdout, "drain\n");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
