import { access, constants, writeFile } from "node:fs/promises";
import { CodedError } from "../../common/errors.ts";
import { textOf } from "./text-file.ts";

/** A switch of the kernel, by its name for sysctl. */
export function settingPath(name: string): string {
  return `/proc/sys/${name.replaceAll(".", "/")}`;
}

/** What a switch is set to; undefined if this kernel does not have it. */
export async function readSetting(name: string): Promise<string | undefined> {
  return (await textOf(settingPath(name)))?.trim();
}

/**
 * Finds out, as far as it goes without setting it, whether a switch can be set: there it is, and its file may be written.
 * Rejects as `writeSetting` does.
 */
export async function trySetting(name: string): Promise<void> {
  await allowed(name, () => access(settingPath(name), constants.W_OK));
}

/** Sets a switch. Rejects with CSP_SETTING_REFUSED: without rights, where /proc/sys cannot be written, or has no such switch. */
export async function writeSetting(name: string, value: string): Promise<void> {
  await allowed(name, () => writeFile(settingPath(name), value, { flag: "r+" }));
}

/** What each says of a file in /proc/sys. */
const WORDS: Readonly<Record<string, string>> = {
  EROFS: "/proc/sys is read-only",
  EACCES: "the agent may not write it",
  EPERM: "the agent may not write it",
  ENOENT: "this kernel does not have it",
  EINVAL: "the kernel does not take the value",
};

async function allowed(name: string, trial: () => Promise<void>): Promise<void> {
  try {
    await trial();
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    const message = `${name} cannot be set: ${WORDS[code] ?? code}`;
    throw new CodedError("CSP_SETTING_REFUSED", message, { cause });
  }
}
