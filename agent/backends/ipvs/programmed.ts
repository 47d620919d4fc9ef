import type { Programmed } from "../backend.ts";
import { digitsOf } from "../nft/digits.ts";
import { keysOf, type ServiceKey } from "../nft/service-key.ts";
import { isImportKey, type KernelState, vipOf } from "./state.ts";

/** The services that have a virtual server to which the guard admits new connections. PURE. */
export function programmed({ servers, sets: { served } }: KernelState): Programmed {
  let holders: ReadonlyMap<string, string> | undefined;
  const isAdmitted = (key: ServiceKey) => servers.has(key) && served.has(key);
  return {
    get size() {
      // One service has a server for each of its VIPs.
      const services = [...served].flatMap(([key, text]) =>
        servers.has(key) && isImportKey(text) ? [`${text} ${key.slice(key.indexOf(" ") + 1)}`] : [],
      );
      return new Set(services).size;
    },
    holder: (vip) => {
      const [address] = digitsOf([vip]);
      holders ??= new Map([...served].map(([key, text]) => [vipOf(key), text]));
      const text = holders.get(address ?? "");
      return text !== undefined && isImportKey(text) ? text : undefined;
    },
    destinations: served.keys(),
    has: (service) => keysOf(service).some(isAdmitted),
  };
}
