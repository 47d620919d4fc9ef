import { isSameSight, type Sight } from "./sight.ts";

/** Milliseconds for which a file that may still be in the writing must have stayed the same. */
export const REST_MS = 50;

/** What is remembered about one name from look to look. */
export interface Settling {
  /** The sight that has been dealt with last. */
  readonly known?: Sight;
  /** A different one that is not believed yet, and since when, by the clock, it has stayed the same. */
  readonly waiting?: { readonly sight: Sight; readonly since: number };
}

/** What to do about a name now, and what to remember if that is done. */
export interface Verdict {
  readonly step: "nothing" | "wait" | "take";
  readonly after: Settling;
}

/** What the kernel said of a name since the last look: created, removed or renamed; or written to. */
export type FileEvent = "renamed" | "modified";

/**
 * Judges one look.
 *
 * A file renamed into place is complete, and taken at once: it is another inode, nobody has written to it
 * under this name, and it is not empty. Everything else may be half of a change (a file being rewritten, or
 * created and about to be filled; one that an editor has moved aside to write it anew) and half of a change
 * looks like removed objects. So it must first rest.
 *
 * An event is believed though stat shows no difference: file times move in ticks of some milliseconds, and a
 * freed inode is given out again, so that quick changes may leave everything alike but the content.
 */
export function settle(
  before: Settling,
  sight: Sight,
  event: FileEvent | undefined,
  now: number,
): Verdict {
  const { known, waiting } = before;
  if (known !== undefined && event !== "modified" && isSameSight(known, sight)) {
    return { step: event === undefined ? "nothing" : "take", after: { known } };
  }
  if (known === undefined && sight.kind === "gone") return { step: "nothing", after: {} };
  if (isReplacement(before, sight, event)) return { step: "take", after: { known: sight } };
  const resting =
    waiting !== undefined && event !== "modified" && isSameSight(waiting.sight, sight);
  if (resting && now >= waiting.since + REST_MS) return { step: "take", after: { known: sight } };
  const next = resting ? waiting : { sight, since: now };
  // Of what is being written to, no earlier sight says anything any more, but for its inode.
  const stale = event === "modified" && known?.kind === "file" ? { ...known, version: "" } : known;
  return { step: "wait", after: { waiting: next, ...(stale && { known: stale }) } };
}

function isReplacement(
  { known, waiting }: Settling,
  sight: Sight,
  event: FileEvent | undefined,
): boolean {
  if (sight.kind !== "file" || event === "modified" || sight.size === 0) return false;
  // Renaming over a name never leaves a moment without it.
  if (waiting?.sight.kind === "gone") return false;
  const inodes = [known, waiting?.sight].map((each) => each?.kind === "file" && each.inode);
  return !inodes.includes(sight.inode);
}
