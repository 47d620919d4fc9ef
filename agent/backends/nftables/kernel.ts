import { codeOf } from "../../../common/errors.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { NftProcess } from "../../system/nft-process.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { refusalOf } from "../../system/nftables/refusal.ts";
import type { OpenOptions } from "../backend-kind.ts";
import type { Dataplane, Found, ReadScope } from "../dataplane.ts";
import type { Held } from "../objects.ts";
import {
  type Content,
  type ElementGroup,
  type NftablesCommands,
  NftablesLayout,
  renderGroup,
} from "./layout.ts";
import { readBack } from "./read.ts";
import { type SkeletonOptions, TABLE } from "./sets.ts";

/** Characters of one transaction of text: nft reads long lines slowly. */
const MOST_TEXT = 40_000;

/** Options of the nftables of one family. */
export interface NftablesOptions extends SkeletonOptions, Partial<OpenOptions> {
  /** Counts commits to this namespace's nftables; shared by both families. */
  readonly commits?: NftCommits;
}

/** nftables, for one family. Ownership, without memory of an earlier run: everything in the table `clusterset-proxy` is ours. */
export class Nftables implements Dataplane<Content, NftablesCommands> {
  readonly layout: NftablesLayout;
  readonly #options: NftablesOptions;
  readonly #nft: NftProcess;
  readonly #commits: NftCommits;

  constructor(options: NftablesOptions) {
    this.#options = options;
    this.layout = new NftablesLayout(options);
    this.#nft = new NftProcess(options);
    this.#commits = options.commits ?? new NftCommits();
  }

  async read(scope: ReadScope, _held: Held, stop?: AbortSignal): Promise<Found> {
    return { held: await readBack(this.#options, scope, stop) };
  }

  /**
   * Chains first, then the elements. Rejects as `NftProcess.run` and `NftElements.run` do, also with CSP_NFT_REFUSED for elements as text; the parts before
   * are then live.
   */
  async write({
    skeleton,
    groups,
    retired,
    garbage,
    garbageIds,
  }: NftablesCommands): Promise<ReadonlySet<string>> {
    if (skeleton !== "") await this.#runText(skeleton);
    if (groups.length > 0) await this.#runGroups(groups);
    if (retired !== "") await this.#runText(retired);
    return garbage === "" || (await this.#collect(garbage)) ? new Set() : garbageIds;
  }

  changes(): Promise<string | undefined> {
    return this.#commits.ofOthers();
  }

  close(): Promise<void> {
    return this.#nft.close();
  }

  async #runGroups(groups: readonly ElementGroup[]): Promise<void> {
    const { family } = this.#options;
    const elements = new NftElements(family, TABLE);
    const run = (text: string) =>
      this.#runText(text).catch((error: unknown) => {
        throw refusalOf(error);
      });
    try {
      await this.#commits.run(() =>
        elements.run(groups, (group) => run(renderGroup(family, group))),
      );
    } catch (error) {
      if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
      for (const text of textsOf(family, groups)) await run(text);
    }
  }

  #runText(text: string): Promise<void> {
    return this.#commits.run(async () => {
      await this.#nft.run(text);
      return 1;
    });
  }

  /**
   * Deletes chains without use. False if the kernel rejects it: before Linux 6.2, a chain is in use until the element that led to it is freed, some time after
   * it was deleted.
   */
  async #collect(garbage: string): Promise<boolean> {
    try {
      await this.#runText(garbage);
      return true;
    } catch (error) {
      if (codeOf(error) !== "CSP_EXEC_FAILED") throw error;
      return false;
    }
  }
}

/** The same as text, whole groups in each. */
function* textsOf(
  family: SkeletonOptions["family"],
  groups: readonly ElementGroup[],
): Generator<string> {
  let text = "";
  for (const group of groups) {
    const next = renderGroup(family, group);
    if (text !== "" && text.length + next.length > MOST_TEXT) {
      yield text;
      text = "";
    }
    text += next;
  }
  if (text !== "") yield text;
}
