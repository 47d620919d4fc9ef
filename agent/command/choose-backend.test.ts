import assert from "node:assert/strict";
import { test } from "node:test";
import { backendRemark } from "./choose-backend.ts";

test("/readyz says which backend is in use, and of iptables in the place of IPVS in one line why", () => {
  assert.equal(backendRemark({ backend: "ipvs" }), "[+]backend-ipvs ok");
  const iptables = { backend: "iptables", flavour: "nft" } as const;
  assert.equal(backendRemark(iptables), "[+]backend-iptables ok");
  const lacks = ["The kernel has no IPVS.", "nft: Error:\n  no such file."];
  assert.equal(
    backendRemark({ ...iptables, lacks }),
    "[?]backend-iptables ipvs-unusable: The kernel has no IPVS. nft: Error: no such file.",
  );
});
