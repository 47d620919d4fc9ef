import type { ForeignChange } from "./tested-backend.ts";

/** Changes of a table and of one of its base chains, after which the same rules have another effect or none. */
export function changedChains(
  table: string,
  chain: string,
): Pick<ForeignChange, "what" | "command">[] {
  const again = (edit: string) =>
    `(echo 'flush chain ${table} ${chain}; delete chain ${table} ${chain}'; nft -y list chain ${table} ${chain} | sed '${edit}') | nft -f -`;
  return [
    {
      what: "a base chain whose policy drops",
      command: `nft 'add chain ${table} ${chain} { policy drop; }'`,
    },
    {
      what: "a base chain with another priority",
      command: again("s/priority [-0-9]*/priority 44/"),
    },
    { what: "a base chain with another hook", command: again("s/hook [a-z]*/hook output/") },
    { what: "a chain that is no base chain any more", command: again("/hook/d") },
    { what: "a table that is dormant", command: `nft 'add table ${table} { flags dormant; }'` },
  ];
}
