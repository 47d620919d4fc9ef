/** What the files of one part of the tree may import. */
export interface Rule {
  /** Globs of paths; a file belongs to the first rule that has one for it. */
  readonly files: readonly string[];
  /**
   * Globs of paths, and names: `node:` for any built-in module, `node:fs` for one and what is below it, `yaml`
   * for a package, `./` for the file's own folder.
   */
  readonly may: readonly string[];
  /** True if the files must have no side effects and no state: see `IMPURE` in laws.ts. */
  readonly pure: boolean;
  readonly why: string;
}
