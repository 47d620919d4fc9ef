import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubernetesCommand } from "../test/apiserver/commands.ts";
import { rendered } from "./manifests/rendered.ts";

// Renders deploy into the file that `kubectl clusterset` carries with it: node scripts/manifests.ts --write, after each
// change in deploy. Without the flag, it only says whether the file is behind.

const file = join(import.meta.dirname, "../cli/install/manifests.json");
const text = `${JSON.stringify(rendered(kubernetesCommand("kubectl")), undefined, 2)}\n`;
const write = process.argv.includes("--write");
if (write) writeFileSync(file, text);
const behind = !write && readFileSync(file, "utf8") !== text;
console.log(
  `cli/install/manifests.json ${write ? "written" : behind ? "is behind" : "is current"}`,
);
process.exitCode = behind ? 1 : 0;
