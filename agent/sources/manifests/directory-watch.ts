import { readdirSync, statSync, watch } from "node:fs";
import { basename, resolve } from "node:path";
import { isManifestName } from "./manifest-files.ts";
import { type Mistake, type Outcome, unreadable } from "./mistake.ts";
import type { FileEvent } from "./settling.ts";

/** Hears what happened to a name in the directory; null if the kernel named none. */
export type OnEvent = (event: FileEvent, name: string | null) => void;

/** Makes a directory's events arrive until the returned function is called. May throw. */
export type WatchDirectory = (
  path: string,
  onEvent: OnEvent,
  onError: (error: Error) => void,
) => () => void;

/** inotify, by way of Node. */
export const watchDirectory: WatchDirectory = (path, onEvent, onError) => {
  const watcher = watch(path, (type, name) => {
    onEvent(type === "change" ? "modified" : "renamed", name);
  });
  watcher.on("error", onError);
  return () => watcher.close();
};

/**
 * Follows a directory by its path, through its removal and replacement: a watch holds on to the directory
 * that was there when it began, which need not be the one that the path leads to now.
 */
export class DirectoryWatch {
  readonly #path: string;
  readonly #watch: WatchDirectory;
  readonly #onEvent: OnEvent;
  #inode = "";
  #close: (() => void) | undefined;
  #unwatched: Mistake | undefined;

  constructor(path: string, watch: WatchDirectory, onEvent: OnEvent) {
    this.#path = resolve(path);
    this.#watch = watch;
    this.#onEvent = onEvent;
  }

  /** Why no events arrive (out of inotify watches, for instance); undefined if they do. */
  get unwatched(): Mistake | undefined {
    return this.#unwatched;
  }

  /**
   * Makes sure that the directory which the path leads to is the one that is watched. Gives true if it was
   * not until now, so that anything in it may have changed.
   */
  renew(): Outcome<boolean> {
    try {
      const { dev, ino, birthtimeNs } = statSync(this.#path, { bigint: true });
      // ext4 gives a new directory the inode of the one that was just removed.
      const inode = `${dev}:${ino}:${birthtimeNs}`;
      if (this.#close !== undefined && inode === this.#inode) return { value: false };
      this.close();
      this.#inode = inode;
    } catch (error) {
      this.close();
      return { mistake: unreadable(error) };
    }
    this.#open();
    return { value: true };
  }

  /** The names of manifests in the directory, in no order. */
  list(): Outcome<readonly string[]> {
    try {
      return { value: readdirSync(this.#path).filter(isManifestName) };
    } catch (error) {
      return { mistake: unreadable(error) };
    }
  }

  close(): void {
    this.#close?.();
    this.#close = undefined;
  }

  #open(): void {
    this.#unwatched = undefined;
    const fail = (error: unknown) => {
      this.#unwatched = { ...unreadable(error), fault: "unwatched" };
      this.close();
    };
    try {
      this.#close = this.#watch(this.#path, (event, name) => this.#hear(event, name), fail);
    } catch (error) {
      // Not fatal: what no event tells, the periodic look finds, and `unwatched` says so.
      fail(error);
    }
  }

  /** An event of its own name means the directory itself: it was removed or moved, or its mode changed. */
  #hear(event: FileEvent, name: string | null): void {
    const own = name === basename(this.#path);
    if (own) this.close();
    this.#onEvent(event, own ? null : name);
  }
}
