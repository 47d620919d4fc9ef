import packageJson from "../package.json" with { type: "json" };

/** The version of our programs: they are released together. */
export const VERSION = packageJson.version;

/** What `version` prints: the program and the Node that runs it, what a bug report needs first. */
export function versionText(program: string): string {
  return `${program} ${VERSION} (Node ${process.version.slice(1)})\n`;
}
