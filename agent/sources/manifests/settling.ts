import { type FileState, isSameState } from "./file-state.ts";

/** Milliseconds for which a file that may be partly written must be unchanged. */
export const REST_MS = 50;

/** State of one name between two checks. */
export interface Settling {
  /** The last processed state. */
  readonly known?: FileState;
  /** A different state that is not processed yet, and since when it is unchanged, by the clock. */
  readonly waiting?: { readonly state: FileState; readonly since: number };
}

/** What to do about a name, and its state afterwards. */
export interface Verdict {
  readonly step: "nothing" | "wait" | "take";
  readonly after: Settling;
}

/** An inotify event of a name: created, removed or renamed; or modified. */
export type FileEvent = "renamed" | "modified";

/**
 * Decides what to do after one check of a name.
 *
 * A file renamed into place is complete and read immediately: it has another inode, was not modified, and is not empty.
 * Anything else may be half of a change, which looks like removed objects: it must be unchanged for `REST_MS`.
 *
 * After an event, a file is read even if stat shows no difference, because times are coarse and inodes are reused.
 */
export function settle(
  before: Settling,
  state: FileState,
  event: FileEvent | undefined,
  now: number,
): Verdict {
  const { known, waiting } = before;
  if (known !== undefined && event !== "modified" && isSameState(known, state)) {
    return { step: event === undefined ? "nothing" : "take", after: { known } };
  }
  if (known === undefined && state.kind === "gone") return { step: "nothing", after: {} };
  if (isReplacement(before, state, event)) return { step: "take", after: { known: state } };
  const resting =
    waiting !== undefined && event !== "modified" && isSameState(waiting.state, state);
  if (resting && now >= waiting.since + REST_MS) return { step: "take", after: { known: state } };
  const next = resting ? waiting : { state, since: now };
  // While a file is being written, only the inode of its last state is still valid.
  const stale = event === "modified" && known?.kind === "file" ? { ...known, version: "" } : known;
  return { step: "wait", after: { waiting: next, ...(stale && { known: stale }) } };
}

function isReplacement(
  { known, waiting }: Settling,
  state: FileState,
  event: FileEvent | undefined,
): boolean {
  if (state.kind !== "file" || event === "modified" || state.size === 0) return false;
  // A rename over a name is atomic: the name always exists.
  if (waiting?.state.kind === "gone") return false;
  const inodes = [known, waiting?.state].map((each) => each?.kind === "file" && each.inode);
  return !inodes.includes(state.inode);
}
