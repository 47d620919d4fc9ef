import { readdirSync, statSync, watch } from "node:fs";
import { basename, resolve } from "node:path";
import { isManifestName } from "./manifest-files.ts";
import { type Mistake, type Outcome, unreadable } from "./mistake.ts";
import type { FileEvent } from "./settling.ts";

/** Receives an event for a name in the directory; null if the kernel names none. */
export type OnEvent = (event: FileEvent, name: string | null) => void;

/** Watches a directory until the returned function is called. May throw. */
export type WatchDirectory = (
  path: string,
  onEvent: OnEvent,
  onError: (error: Error) => void,
) => () => void;

/** Watches by inotify. */
export const watchDirectory: WatchDirectory = (path, onEvent, onError) => {
  const watcher = watch(path, (type, name) => {
    onEvent(type === "change" ? "modified" : "renamed", name);
  });
  watcher.on("error", onError);
  return () => watcher.close();
};

/** Watches a directory by its path: an inotify watch alone would stay with a directory that was replaced. */
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

  /** Why there are no events, such as inotify limits; undefined if there are. */
  get unwatched(): Mistake | undefined {
    return this.#unwatched;
  }

  /** Watches the directory that is at the path now. True if it was not watched before: any file may have changed. */
  renew(): Outcome<boolean> {
    try {
      const { dev, ino, birthtimeNs } = statSync(this.#path, { bigint: true });
      // ext4 reuses the inode of a removed directory.
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

  /** Names of manifests in the directory, unordered. */
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
      this.#close = this.#watch(this.#path, (event, name) => this.#forward(event, name), fail);
    } catch (error) {
      // Not fatal: resyncs find changes without events.
      fail(error);
    }
  }

  /** An event with the name of the directory is about the directory itself, such as its removal. */
  #forward(event: FileEvent, name: string | null): void {
    const own = name === basename(this.#path);
    if (own) this.close();
    this.#onEvent(event, own ? null : name);
  }
}
