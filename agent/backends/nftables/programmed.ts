import type { Programmed } from "../backend.ts";
import { digitsOf } from "../nft/digits.ts";
import { keysOf, type ServiceKey } from "../nft/service-key.ts";
import { importOf, type KernelState } from "./state.ts";

/** The services with endpoints in the kernel. PURE. */
export function programmed({ services }: KernelState): Programmed {
  const isForwarded = (key: ServiceKey) => !(services.get(key)?.head ?? "0 ").startsWith("0 ");
  let holders: ReadonlyMap<string, string> | undefined;
  return {
    get size() {
      const found = [...services].flatMap(([key, { head }]) =>
        head !== undefined && isForwarded(key)
          ? [`${importOf(head)} ${key.slice(key.indexOf(" "))}`]
          : [],
      );
      return new Set(found).size;
    },
    holder: (vip) => {
      const [address = ""] = digitsOf([vip]);
      holders ??= new Map(
        [...services].flatMap(([key, { head }]) =>
          head === undefined ? [] : [[key.slice(0, key.indexOf(" ")), head] as const],
        ),
      );
      return importOf(holders.get(address) ?? "");
    },
    destinations: services.keys(),
    has: (service) => keysOf(service).some(isForwarded),
  };
}
