import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** Where the mounts of this process are listed (proc_pid_mountinfo(5)). */
export const MOUNTS = "/proc/self/mountinfo";

/** The mount that a path lies on. */
export interface Mount {
  readonly point: string;
  readonly type: string;
}

/** The mount that holds `path`: of those above it the longest, and of several there the last. PURE. */
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
 * Whether files that lock out other programs are the host's. In a container whose image's own file system holds
 * them, each program locks a file of its own, and two of them write to the kernel at once. PURE.
 */
export function judgeLocks(paths: readonly string[], mountinfo: string | undefined): Verdict {
  const place = { check: "lock" } as const;
  if (mountinfo === undefined) return unknown(place, `${MOUNTS} cannot be read.`);
  // A node that runs from an overlay itself has a file system of its own at /run, as systemd wants it.
  const own = paths.filter((path) => mountOf(path, mountinfo)?.type === "overlay");
  if (own.length === 0) return well(place);
  const advice = `${own.join(" and ")} lies in this container's own file system, so it locks nobody out: mount the host's /run (hostPath) there.`;
  return failing(place, "lock-not-shared", advice);
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
