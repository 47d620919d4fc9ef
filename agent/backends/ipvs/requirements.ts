import type { Requirements } from "../requirements.ts";

/** What IPVS requires of a node, besides what `setUp` checks. VIPs are addresses of the node, so programs need no route to them. */
export const REQUIREMENTS: Requirements = {
  tools: () => [{ program: "nft", query: ["nft", "-v"], install: "Install nftables" }],
  lockFiles: [],
  needsRoute: false,
};
