import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import type { Obstacle } from "../backend.ts";
import { type Believed, type DestinationKey, destinationText, serverName } from "./state.ts";

/** How ipvsadm names a protocol. */
const OPTIONS: Readonly<Record<Protocol, string>> = {
  TCP: "-t",
  UDP: "-u",
  SCTP: "--sctp-service",
};
/** Destinations that are named: enough to know whose they are. */
const NAMED = 3;

/** Other programs' virtual servers in the place of wanted ones. PURE. */
export function obstaclesOf({ blocked, servers }: Believed, family: Family): Obstacle[] {
  return [...blocked].map(([key, { importKey, servicePort }]) => {
    const { protocol, address: hex, port } = serverName(key, family);
    const { text } = addressFromHex(hex);
    const place = family === "IPv4" ? `${text}:${port}` : `[${text}]:${port}`;
    const standing = servers.get(key);
    const scheduler = standing?.terms.scheduler ?? "unknown";
    const destinations = standing?.far ? [] : [namesOf([...(standing?.destinations.keys() ?? [])])];
    const there = [`scheduler ${scheduler}`, ...destinations].join(", ");
    const remove = `ipvsadm -D ${OPTIONS[protocol]} ${place}`;
    const message = `${servicePort}: a virtual server that is not ours stands at ${protocol} ${place} (${there}). If nobody needs it: ${remove}`;
    return { importKey, servicePort, protocol, reason: "server-foreign", message };
  });
}

function namesOf(destinations: readonly DestinationKey[]): string {
  if (destinations.length === 0) return "no destination";
  const some = destinations.slice(0, NAMED).map(destinationText).join(", ");
  const more = destinations.length - NAMED;
  return more > 0 ? `to ${some} and ${more} more` : `to ${some}`;
}
