import type { Family } from "../../api/address.ts";
import type { Argv } from "../system/program-result.ts";

/** What a backend requires of a node. Preflight checks it and reports what is missing. */
export interface Requirements {
  /** The programs that it runs for these families. */
  tools(families: readonly Family[]): readonly Tool[];
  /** Files that other programs lock, too; they must be the host's. */
  readonly lockFiles: readonly string[];
  /** True if programs on the node itself need a route to a ClusterSetIP: no address of the node is one. */
  readonly needsRoute: boolean;
  /**
   * Finds the extensions of the backend's rules that the node rejects; undefined if that could not be tested. Never rejects. Absent if
   * the rules use none.
   */
  readonly rejectedExtensions?: (
    family: Family,
    stop: AbortSignal,
  ) => Promise<readonly RejectedExtension[] | undefined>;
}

/** A program that the backend runs. */
export interface Tool {
  readonly program: string;
  /** Prints its version. */
  readonly query: Argv;
  /** The oldest version that works; absent if any does. */
  readonly oldest?: Version;
  /** A sentence, without a full stop: how to install it. */
  readonly install: string;
}

/** Major, minor and patch number. */
export type Version = readonly [number, number, number];

/** An extension that the kernel or the tool rejects. */
export interface RejectedExtension {
  readonly name: string;
  /** What does not work without it. */
  readonly lost: string;
  /** The tool's message. */
  readonly message: string;
}
