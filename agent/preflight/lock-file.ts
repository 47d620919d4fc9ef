import { type Finding, failing, ok, unknown } from "./finding.ts";

/** The mounts of this process (proc_pid_mountinfo(5)). */
export const MOUNTS = "/proc/self/mountinfo";

/** A mount point and the type of its file system. */
export interface Mount {
  readonly point: string;
  readonly type: string;
}

/** The mount that holds `path`: the longest mount point above it, and of several mounts there the last. */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let best: Mount | undefined;
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const point = unescapeMount(before.split(" ")[4] ?? "");
    const [type = ""] = after.split(" ");
    if (point === "" || !isBelow(path, point)) continue;
    if (best === undefined || point.length >= best.point.length) best = { point, type };
  }
  return best;
}

/**
 * Whether lock files are the host's. In a container whose own file system holds them, each container locks a file of its
 * own, and two programs write to the kernel at once.
 */
export function checkLocks(paths: readonly string[], mountinfo: string | undefined): Finding {
  const key = { check: "lock" } as const;
  if (mountinfo === undefined) return unknown(key, `Cannot read ${MOUNTS}.`);
  // systemd mounts a file system of its own at /run, also on a node whose root is an overlay.
  const own = paths.filter((path) => mountOf(path, mountinfo)?.type === "overlay");
  if (own.length === 0) return ok(key);
  const advice = `${own.join(" and ")}: in this container's own file system, where other programs of the node do not see the lock. Mount the host's /run (hostPath) there.`;
  return failing(key, "lock-not-shared", advice);
}

function isBelow(path: string, point: string): boolean {
  return path === point || path.startsWith(point.endsWith("/") ? point : `${point}/`);
}

/** The kernel writes blanks and the like as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
