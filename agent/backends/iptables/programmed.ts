import type { ObjectKey } from "../../../api/names.ts";
import type { Programmed } from "../backend.ts";
import { digitsOf } from "../nft/digits.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import type { KernelState } from "./state.ts";

const SERVICE_CHAIN = `nat ${OWN}SVC-`;

/** The services whose chain the kernel holds. PURE. */
export function programmed({ chains, entries }: KernelState): Programmed {
  let holders: ReadonlyMap<string, ObjectKey> | undefined;
  return {
    get size() {
      return [...chains.keys()].filter((key) => key.startsWith(SERVICE_CHAIN)).length;
    },
    holder: (vip) => {
      const [address = ""] = digitsOf([vip]);
      holders ??= new Map(
        [...(entries ?? [])].map(([place, key]) => [place.slice(0, place.indexOf(" ")), key]),
      );
      return holders.get(address);
    },
    destinations: entries?.keys() ?? [],
    has: (service) => chains.has(`nat ${serviceChain(service)}`),
  };
}
