import packageJson from "../../package.json" with { type: "json" };

/** The version of the program. */
export const VERSION = packageJson.version;

/** `version`: the program and the Node that runs it, what a bug report needs first. */
export function versionText(): string {
  return `clusterset-agent ${VERSION} (Node ${process.version.slice(1)})\n`;
}
