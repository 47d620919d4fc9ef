import type { Family } from "../../../api/address.ts";
import { execLines } from "../run-program.ts";
import { ruleComments } from "./rule-comments.ts";

/** Deletes a table of ours, if it has rules. Returns their number. Rejects as `ruleComments` and `execLines` do. */
export async function removeTable(family: Family, table: string): Promise<number> {
  const rules = await ruleComments(family, table);
  if (rules.length === 0) return 0;
  const word = family === "IPv4" ? "ip" : "ip6";
  await execLines(["nft", "delete", "table", word, table], () => undefined);
  return rules.length;
}
