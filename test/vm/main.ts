import { relative, resolve } from "node:path";
import { test } from "node:test";
import { parseArgs } from "node:util";
import { builtCommands, runInGuest } from "./guest-tests.ts";
import { REPOSITORY } from "./run-disk.ts";

const USAGE = `test/vm/run [--only PATTERN] [--command NAME]... FILE...

Boots Debian's kernel in QEMU, runs the test files there, one after the other, as they are in the working tree, and shows
their results.

  --only PATTERN   only tests whose names match, a regular expression
  --command NAME   bring a command of Kubernetes along (kube-proxy, kube-apiserver, etcd, ...): there,
                   test/kubernetes/build NAME and $KUBEBUILDER_ASSETS say where it is`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    command: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help || positionals.length === 0) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}
const files = positionals.map((file) => relative(REPOSITORY, resolve(file)));
const commands = builtCommands(values.command);
test("in the virtual machine", async (t) => {
  await runInGuest(t, {
    files: [],
    alone: files,
    commands,
    ...(values.only === undefined ? {} : { only: values.only }),
  });
});
