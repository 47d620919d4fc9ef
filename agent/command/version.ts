import packageJson from "../../package.json" with { type: "json" };

/** The version of the program, and the Node that runs it: what a bug report needs first. */
export function versionText(): string {
  return `clusterset-agent ${packageJson.version} (Node ${process.version.slice(1)})\n`;
}
