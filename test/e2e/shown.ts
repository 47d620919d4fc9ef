/**
 * Text that differs from one run to the next, and its replacement. The cluster of an address, and words, are compared.
 */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>"],
  [/"(at|ms|maxMs|seconds|removed)":[\d.]+/g, '"$1":<number>'],
  // Columns of kubectl, such as AGE.
  [/\b(?:\d+[smhd])+\b/g, "<age>"],
  // Of pods and Services.
  [/\b10\.(\d+)\.\d+\.\d+\b/g, "10.$1.<host>"],
  [/\bfd00:10:(\d+):[\da-f:]+/g, "fd00:10:$1:<host>"],
  // Pods of a ReplicaSet, and of a DaemonSet.
  [/(?:-[bcdfghjklmnpqrstvwxz2456789]{7,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-<pod>"],
  // Imported slices.
  [/\b[\da-f]{16}\b/g, "<hash>"],
  // Of connection tracking: seconds that are left, and the client's port.
  [/^(tcp|udp) +(\d+) \d+ /gm, "$1 $2 <seconds> "],
  [/\b([sd]port)=\d{5}\b/g, "$1=<port>"],
  [/[^\S\n]+/g, " "],
  [/ $/gm, ""],
];

/** Stands for any text within a line, and, alone, for any number of lines. */
const LEFT_OUT = "…";

/**
 * Whether what a guide shows is what is seen, but for what differs from one run to the next: addresses of pods, names of pods,
 * times, widths of columns. "…" stands for what the guide leaves out.
 */
export function isAsShown(shown: string, seen: string): boolean {
  const pattern = masked(shown)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line.trim() === LEFT_OUT ? "(?:.*\n)*?" : `${patternOf(line)}\n`))
    .join("");
  return new RegExp(`^${pattern}$`).test(`${masked(seen).replace(/\n$/, "")}\n`);
}

/** A text with what differs from run to run replaced by what it is. */
export function masked(text: string): string {
  return MASKS.reduce((rest, [what, by]) => rest.replaceAll(what, by), text);
}

function patternOf(line: string): string {
  const parts = line.split(LEFT_OUT);
  return parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
}
