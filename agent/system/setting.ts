import { access, constants, writeFile } from "node:fs/promises";
import { CodedError } from "../../common/errors.ts";
import { textOf } from "./text-file.ts";

const OWN = "/proc/sys";
/**
 * Where switches are written if that is read-only, as it is in a container: there `deploy/components/ipvs` lets the agent see
 * the node's, of which the kernel shows everybody those of their own network namespace.
 */
export const OF_HOST = "/host/proc/sys";

/** A switch of the kernel, by its name for sysctl. */
export function settingPath(name: string, folder = OWN): string {
  return `${folder}/${name.replaceAll(".", "/")}`;
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
  await allowed(name, (path) => access(path, constants.W_OK));
}

/** Sets a switch. Rejects with CSP_SETTING_REFUSED: without rights, where /proc/sys cannot be written, or has no such switch. */
export async function writeSetting(name: string, value: string): Promise<void> {
  await allowed(name, (path) => writeFile(path, value, { flag: "r+" }));
}

/** What each says of a file in /proc/sys. */
const WORDS: Readonly<Record<string, string>> = {
  EROFS: "/proc/sys is read-only",
  EACCES: "the agent may not write it",
  EPERM: "the agent may not write it",
  ENOENT: "this kernel does not have it",
  EINVAL: "the kernel does not take the value",
};

async function allowed(name: string, trial: (path: string) => Promise<void>): Promise<void> {
  try {
    await trial(settingPath(name)).catch(async (first: unknown) => {
      if (codeOf(first) !== "EROFS") throw first;
      await trial(settingPath(name, OF_HOST)).catch((second: unknown) => {
        throw codeOf(second) === "ENOENT" ? first : second;
      });
    });
  } catch (cause) {
    const code = codeOf(cause);
    const message = `${name} cannot be set: ${WORDS[code] ?? code}`;
    throw new CodedError("CSP_SETTING_REFUSED", message, { cause });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
