import { execFile } from "node:child_process";
import { promisify } from "node:util";

const exec = promisify(execFile);

/** Makes a disk of a folder without mounting anything; `spare` MiB of it are free. */
export async function makeDisk(folder: string, disk: string, spare: number): Promise<void> {
  const { stdout } = await exec("du", ["-sm", folder]);
  const size = Math.ceil(Number.parseInt(stdout, 10) * 1.1) + spare;
  // No journal: the disk is not used after the guest has ended.
  // Not in the path of every shell that root gets.
  await exec("/sbin/mke2fs", [
    ...["-q", "-t", "ext4", "-O", "^has_journal,^metadata_csum", "-m", "0", "-E", "root_owner=0:0"],
    ...["-d", folder, disk, `${size}M`],
  ]);
}
