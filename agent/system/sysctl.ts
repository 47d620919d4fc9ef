import { access, constants, writeFile } from "node:fs/promises";
import { CodedError } from "../../common/errors.ts";
import { textOf } from "./kernel-files.ts";

const OWN = "/proc/sys";
/** Where sysctls are set if `OWN` is read-only, as in a container: `deploy/components/ipvs` mounts the host's files there. */
export const OF_HOST = "/host/proc/sys";

function pathOf(name: string, folder = OWN): string {
  return `${folder}/${name.replaceAll(".", "/")}`;
}

/** The value of a sysctl; undefined if this kernel does not have it. */
export async function readSysctl(name: string): Promise<string | undefined> {
  return (await textOf(pathOf(name)))?.trim();
}

/** Checks that the file of a sysctl exists and is writable. Rejects as `writeSysctl` does. */
export async function checkSysctlWritable(name: string): Promise<void> {
  await withPath(name, (path) => access(path, constants.W_OK));
}

/** Sets a sysctl. Rejects with CSP_SETTING_REFUSED. */
export async function writeSysctl(name: string, value: string): Promise<void> {
  await withPath(name, (path) => writeFile(path, value, { flag: "r+" }));
}

const CAUSES: Readonly<Record<string, string>> = {
  EROFS: "/proc/sys is read-only",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "not supported by this kernel",
  EINVAL: "the kernel rejects the value",
};

async function withPath(name: string, use: (path: string) => Promise<void>): Promise<void> {
  try {
    await use(pathOf(name)).catch(async (first: unknown) => {
      if (codeOf(first) !== "EROFS") throw first;
      await use(pathOf(name, OF_HOST)).catch((second: unknown) => {
        throw codeOf(second) === "ENOENT" ? first : second;
      });
    });
  } catch (cause) {
    const code = codeOf(cause);
    const message = `${name} cannot be set: ${CAUSES[code] ?? code}`;
    throw new CodedError("CSP_SETTING_REFUSED", message, { cause });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
