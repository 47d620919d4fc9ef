import { FAMILIES, type Family } from "../../../api/address.ts";
import { familiesIn } from "../../../api/cidr.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import { UNLIMITED } from "../limits.ts";
import { NftablesBackend } from "./backend.ts";
import { readHeld } from "./read-held.ts";
import { removeOwn } from "./remove.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { type Support, supportOf } from "./support.ts";

/** The nftables backend. */
export const nftables: BackendKind = {
  prepare: async (config, _log, stop) => {
    const supports = new Map<Family, Support>();
    const lacks: string[] = [];
    for (const family of familiesIn(config.clusterSetCidrs)) {
      const support = await supportOf(family, stop);
      supports.set(family, support);
      if (support.rejects === undefined) continue;
      const why = `${family}: nft or the kernel rejects the rules`;
      lacks.push(`${why}, which need Linux 5.13 and nft 1.0.1: ${support.rejects}`);
    }
    if (stop.aborted) return undefined;
    if (lacks.length === 0) return ready(config, supports);
    return { reason: "nftables-unusable", lacks, usedBefore: false };
  },

  assume: (config) => ready(config, new Map()),

  leftovers: ({ stop }) =>
    FAMILIES.map((family) => ({ variant: {}, family, remove: () => removeOwn(family, stop) })),
};

function ready(
  { masquerade: mode, podCidrs }: BackendConfig,
  supports: ReadonlyMap<Family, Support>,
): ReadyBackend {
  const commits = new NftCommits();
  return {
    variant: {},
    requirements: REQUIREMENTS,
    open: (family, clusterSetCidrs, options) => {
      const remembers = supports.get(family)?.remembers ?? true;
      const skeleton = { family, clusterSetCidrs, masquerade: { mode, podCidrs }, remembers };
      return {
        backend: new NftablesBackend({ ...skeleton, ...options, commits }),
        reader: { held: (services, stop) => readHeld(family, services, stop) },
      };
    },
    limits: async (family) => ({ ...UNLIMITED, affinity: supports.get(family)?.affinity ?? true }),
    watch: () => () => undefined,
  };
}
