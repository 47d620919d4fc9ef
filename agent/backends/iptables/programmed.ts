import type { Programmed } from "../backend.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import type { KernelState } from "./state.ts";

const SERVICE_CHAIN = `nat ${OWN}SVC-`;

/** The services whose chain the kernel holds. PURE. */
export function programmed({ chains, vips }: KernelState): Programmed {
  return {
    get size() {
      return [...chains.keys()].filter((key) => key.startsWith(SERVICE_CHAIN)).length;
    },
    holder: (vip) => vips?.get(vip),
    has: (service) => chains.has(`nat ${serviceChain(service)}`),
  };
}
