import packageJson from "../package.json" with { type: "json" };

/** Version of all programs. */
export const VERSION = packageJson.version;

/** Output of the command `version`. */
export function versionText(program: string): string {
  return `${program} ${VERSION} (Node ${process.version.slice(1)})\n`;
}
