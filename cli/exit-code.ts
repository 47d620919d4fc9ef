/** Exit codes of all commands. Scripts depend on them. */
export const EXIT = {
  /** Done; nothing is wrong. */
  well: 0,
  /** The command failed, or could not find out. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** What was examined needs attention, but forwards connections. */
  warning: 3,
  /** What was examined does not forward connections as it should. */
  fault: 4,
} as const;

/** One of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** How bad a finding is. */
export type Severity = "well" | "warning" | "fault";

/** The exit code of the worst of some findings. PURE. */
export function exitCodeOf(severities: Iterable<Severity>): ExitCode {
  const all = new Set(severities);
  if (all.has("fault")) return EXIT.fault;
  return all.has("warning") ? EXIT.warning : EXIT.well;
}
