import { isLabelName } from "../names.ts";
import type { Port } from "../port.ts";
import { isProtocol } from "../protocol.ts";
import type { Complaints } from "./complaints.ts";
import { field, isUnset } from "./fields.ts";

/**
 * What makes two ports of one list the same. Names are unique everywhere, the empty one counts (KEP-1645).
 * An import's pairs of protocol and number are, too; a slice's are not: two Service ports may well lead to
 * the same target port.
 */
export const CLAIMS = {
  import: (port: Port) => [`name ${port.name}`, `${port.protocol} ${port.port}`],
  slice: (port: Port) => [`name ${port.name}`],
} as const;

/** Reads one port; undefined if it is wrong, and the complaints say why. `path` leads to it. */
export type PortReader<P extends Port> = (
  raw: unknown,
  path: string,
  complaints: Complaints,
) => P | undefined;

/** Reads a list of at most `most` ports; each that is wrong is left out by itself, of two alike the second. */
export function parsePorts<P extends Port>(
  list: unknown,
  path: string,
  most: number,
  claimsOf: (port: Port) => readonly string[],
  complaints: Complaints,
  read: PortReader<P>,
): P[] {
  if (isUnset(list)) return [];
  if (!Array.isArray(list)) {
    complaints.add("invalid-object", path, list);
    return [];
  }
  if (list.length > most) complaints.add("too-many-ports", path, list.length);
  const ports: P[] = [];
  const taken = new Set<string>();
  for (const [i, raw] of list.slice(0, most).entries()) {
    const port = read(raw, `${path}[${i}]`, complaints);
    if (port === undefined) continue;
    const claims = claimsOf(port);
    if (claims.some((claim) => taken.has(claim))) {
      complaints.add("duplicate-port", `${path}[${i}]`, raw);
      continue;
    }
    for (const claim of claims) taken.add(claim);
    ports.push(port);
  }
  return ports;
}

/** Reads what all ports have: name, protocol (TCP if unset) and number. */
export function parsePort(raw: unknown, path: string, complaints: Complaints): Port | undefined {
  const name = field(raw, "name") ?? "";
  const protocol = field(raw, "protocol") ?? "TCP";
  const port = field(raw, "port");
  if (typeof name !== "string" || (name !== "" && !isLabelName(name))) {
    complaints.add("invalid-name", `${path}.name`, name);
  } else if (!isProtocol(protocol)) {
    complaints.add("invalid-protocol", `${path}.protocol`, protocol);
  } else if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65535) {
    complaints.add("invalid-port", `${path}.port`, port);
  } else {
    return { name, protocol, port };
  }
  return undefined;
}
