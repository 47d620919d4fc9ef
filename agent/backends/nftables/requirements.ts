import type { Requirements } from "../requirements.ts";

/** What the rules require of a node. nft before 1.0.1 reads all tables of the node. */
export const REQUIREMENTS: Requirements = {
  tools: () => [
    { program: "nft", query: ["nft", "-v"], oldest: [1, 0, 1], install: "Install nftables" },
  ],
  lockFiles: [],
  needsRoute: true,
};
