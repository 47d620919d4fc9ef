import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import type { Conflict } from "../backend.ts";
import { type DestinationKey, destinationText, type KernelState, serverName } from "./state.ts";

/** How ipvsadm names a protocol. */
const OPTIONS: Readonly<Record<Protocol, string>> = {
  TCP: "-t",
  UDP: "-u",
  SCTP: "--sctp-service",
};
/** The number of destinations in a message: enough to identify their owner. */
const NAMED = 3;

/** Other programs' virtual servers in the place of desired ones. PURE. */
export function conflictsOf({ blocked, servers }: KernelState, family: Family): Conflict[] {
  return [...blocked].map(([key, { importKey, servicePort }]) => {
    const { protocol, address: hex, port } = serverName(key, family);
    const { text } = addressFromHex(hex);
    const place = family === "IPv4" ? `${text}:${port}` : `[${text}]:${port}`;
    const existing = servers.get(key);
    const scheduler = existing?.terms.scheduler ?? "unknown";
    const destinations = existing?.far ? [] : [namesOf([...(existing?.destinations.keys() ?? [])])];
    const there = [`scheduler ${scheduler}`, ...destinations].join(", ");
    const remove = `ipvsadm -D ${OPTIONS[protocol]} ${place}`;
    const message = `${servicePort}: another program's virtual server exists at ${protocol} ${place} (${there}). If it is not needed: ${remove}`;
    return { importKey, servicePort, protocol, reason: "server-foreign", message };
  });
}

function namesOf(destinations: readonly DestinationKey[]): string {
  if (destinations.length === 0) return "no destination";
  const some = destinations.slice(0, NAMED).map(destinationText).join(", ");
  const more = destinations.length - NAMED;
  return more > 0 ? `to ${some} and ${more} more` : `to ${some}`;
}
