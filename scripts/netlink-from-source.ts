import { buildFromSource, differences } from "./build/netlink-from-source.ts";

// Builds netlink's native part from its source, and compares the prebuilt ones with it (docs/design/0026-releases.md). It needs g++
// and binutils. Tests then run with the one that was built:
//   node scripts/netlink-from-source.ts FOLDER
//   NETLINK_PREBUILD=FOLDER node --test test/kernel/conntrack.test.ts

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("expected a folder for the native part");
const built = buildFromSource(folder);
const lines = differences(built);
for (const line of lines) console.log(line);
console.log(`${built}: ${lines.length} differences that the toolchain does not explain`);
if (lines.length > 0) process.exitCode = 1;
