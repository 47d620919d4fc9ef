import type { Family } from "../../../api/address.ts";
import type { KernelReader } from "../backend.ts";
import { type Flavour, saveLines, toolsOf } from "./flavour.ts";
import { HeldRules } from "./held.ts";

/** Reads rules with iptables-save, all of the nat table: both flavours read it as a whole, or need the names of all chains. */
export function heldReader(flavour: Flavour, family: Family): KernelReader {
  const { save } = toolsOf(flavour, family);
  return {
    held: async (services, stop) => {
      if (services.length === 0) return [];
      const rules = new HeldRules(services);
      await saveLines([...save, "-t", "nat"], (line) => rules.line(line), { stop });
      return rules.ports();
    },
  };
}
