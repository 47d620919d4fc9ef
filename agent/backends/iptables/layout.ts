import type { ObjectKey } from "../../../api/names.ts";
import { digitsOf, type VirtualService } from "../../plan/virtual-service.ts";
import type { Drift, Programmed } from "../backend.ts";
import type { Found, Layout } from "../dataplane.ts";
import { type Change, type Held, type Part, PLAIN } from "../objects.ts";
import { renderGuard, renderHairpin, renderMasquerade } from "./base-chains.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import { IptablesCommands } from "./commands.ts";
import { clusterSetJumps, explicitJumps, parseJumpDigest } from "./jumps.ts";
import { BASES, baseOf, isJump } from "./object-id.ts";
import { IptablesRendering, type RulesOptions } from "./rendering.ts";
import { chainPart, type Rules } from "./rules.ts";

const SERVICE_CHAIN = `nat ${OWN}SVC-`;

/** The objects of iptables, for one family: our chains, and the jumps to them in other chains. */
export class IptablesLayout implements Layout<Rules, IptablesCommands> {
  readonly base: readonly Part<Rules>[];
  readonly after = PLAIN.after;
  readonly isSpare = PLAIN.isSpare;
  readonly most = PLAIN.most;
  readonly #options: RulesOptions;

  constructor(options: RulesOptions) {
    const { family, masquerade, clusterSetCidrs, explicitVipCidrs } = options;
    this.#options = options;
    const nat = [renderHairpin(family), renderMasquerade(masquerade, family)];
    const guard = renderGuard(family);
    this.base = [
      ...explicitVipCidrs.flatMap(explicitJumps),
      ...clusterSetCidrs.flatMap(clusterSetJumps),
      ...nat.map(({ name, rules }) => chainPart(`nat ${name}`, rules)),
      chainPart(`filter ${guard.name}`, guard.rules),
    ];
  }

  rendering(): IptablesRendering {
    return new IptablesRendering(this.#options);
  }

  idsOf(service: VirtualService): string[] {
    return [`nat ${serviceChain(service)}`];
  }

  isShared(id: string): boolean {
    return isJump(id) && BASES.includes(baseOf(id));
  }

  /** The services whose chain the kernel holds. Imports are known of what was read at a start. */
  programmed(held: Held): Programmed {
    let holders: ReadonlyMap<string, ObjectKey> | undefined;
    const entries = () => held.values().flatMap(({ entries }) => entries ?? []);
    return {
      get size() {
        return [...held.keys()].filter((id) => id.startsWith(SERVICE_CHAIN)).length;
      },
      has: (service) => this.idsOf(service).some((id) => held.has(id)),
      holder: (vip) => {
        const [address = ""] = digitsOf([vip]);
        holders ??= new Map(
          entries().map(([place, key]) => [place.slice(0, place.indexOf(" ")), key]),
        );
        return holders.get(address);
      },
      get destinations() {
        return entries().map(([place]) => place);
      },
    };
  }

  commands(change: Change<Rules>): IptablesCommands {
    return new IptablesCommands(change);
  }

  /**
   * Additional chains with our prefix are no drift: the next complete pass deletes them. What has a suspect comes first, because the log names only the
   * first.
   */
  drift(ids: readonly string[], before: Held, found: Found): Drift[] {
    const drift = [
      ...ids.filter((id) => !isJump(id)).flatMap((id) => chainDrift(id, before, found.held)),
      ...ids.filter(isJump).flatMap((id) => jumpDrift(id, before, found.held)),
    ];
    const all = drift.map((one) => suspected(one, found));
    return [...all.filter((one) => one.suspect), ...all.filter((one) => !one.suspect)];
  }
}

function chainDrift(id: string, before: Held, found: Held): Drift[] {
  if (!before.has(id)) return [];
  return [{ reason: found.has(id) ? "chain-changed" : "chain-missing", what: id }];
}

function jumpDrift(id: string, before: Held, found: Held): Drift[] {
  const now = found.get(id);
  if (now === undefined) return [{ reason: "jump-missing", what: id }];
  const { copies, behind } = parseJumpDigest(now.digest);
  const drift: Drift[] = [];
  if (behind !== undefined && before.has(id))
    drift.push({ reason: "jump-behind", what: id, suspect: behind });
  if (copies > 1 || !before.has(id)) drift.push({ reason: "jump-extra", what: id });
  return drift;
}

function suspected(drift: Drift, found: Found): Drift {
  const suspect = drift.suspect ?? found.suspect?.(drift.what);
  return suspect === undefined ? drift : { ...drift, suspect };
}
