import type { Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import type { NftCommits } from "../../system/nft-commits.ts";
import type { NftProcess } from "../../system/nft-process.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { refusalOf } from "../../system/nftables/refusal.ts";
import { TABLE } from "./sets.ts";
import { type ElementGroup, type NftablesTransaction, renderGroup } from "./transaction.ts";

/** Characters of one transaction of text: nft reads long lines slowly. */
const MOST_TEXT = 40_000;

/**
 * Makes a transaction live: the skeleton first, then the elements. Rejects as `NftProcess.run` and `NftElements.run` do, also with
 * CSP_NFT_REFUSED for elements as text; the parts before are then live.
 */
export async function runTransaction(
  family: Family,
  { skeleton, groups }: NftablesTransaction,
  nft: Pick<NftProcess, "run">,
  commits: NftCommits,
): Promise<void> {
  const run = (text: string) => runText(text, nft, commits);
  const runElements = (text: string) =>
    run(text).catch((error: unknown) => {
      throw refusalOf(error);
    });
  if (skeleton !== "") await run(skeleton);
  if (groups.length === 0) return;
  const elements = new NftElements(family, TABLE);
  try {
    await commits.run(() =>
      elements.run(groups, (group) => runElements(renderGroup(family, group))),
    );
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    for (const text of textsOf(family, groups)) await runElements(text);
  }
}

function runText(text: string, nft: Pick<NftProcess, "run">, commits: NftCommits): Promise<void> {
  return commits.run(async () => {
    await nft.run(text);
    return 1;
  });
}

/**
 * Deletes chains that an earlier transaction has retired. False if there are none, or if the kernel rejects it: before Linux 6.2, a chain is in
 * use until the element that led to it is freed, some time after it was deleted. The next transaction with garbage tries again.
 */
export async function removeGarbage(
  { garbage }: NftablesTransaction,
  nft: Pick<NftProcess, "run">,
  commits: NftCommits,
): Promise<boolean> {
  if (garbage === "") return false;
  try {
    await runText(garbage, nft, commits);
    return true;
  } catch (error) {
    if (codeOf(error) !== "CSP_EXEC_FAILED") throw error;
    return false;
  }
}

/** The same as text, whole groups in each. */
function* textsOf(family: Family, groups: readonly ElementGroup[]): Generator<string> {
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
