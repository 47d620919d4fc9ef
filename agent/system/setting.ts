import { writeFile } from "node:fs/promises";
import { textOf } from "./text-file.ts";

/** A switch of the kernel, by its name for sysctl. */
export function settingPath(name: string): string {
  return `/proc/sys/${name.replaceAll(".", "/")}`;
}

/** What a switch is set to; undefined if this kernel does not have it. */
export async function readSetting(name: string): Promise<string | undefined> {
  return (await textOf(settingPath(name)))?.trim();
}

/** Sets a switch. Rejects as `writeFile` does: without rights, or where /proc/sys cannot be written. */
export function writeSetting(name: string, value: string): Promise<void> {
  return writeFile(settingPath(name), value);
}
