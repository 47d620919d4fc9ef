import { isLabelName } from "../names.ts";
import type { Port } from "../protocol.ts";
import { isProtocol } from "../protocol.ts";
import type { Complaints } from "./complaints.ts";
import { field, isUnset } from "./fields.ts";

/**
 * What must be unique in a list of ports: names, including the empty one (KEP-1645), and an import's pairs of protocol and
 * number. Ports of a slice may have the same number, because two Service ports may share a target port.
 */
export const CLAIMS = {
  import: (port: Port) => [`name ${port.name}`, `${port.protocol} ${port.port}`],
  slice: (port: Port) => [`name ${port.name}`],
} as const;

/** Parses a list of at most `most` ports with `read`. Invalid ports and the second of two duplicates are skipped. */
export function parsePorts<P extends Port>(
  list: unknown,
  path: string,
  most: number,
  claimsOf: (port: Port) => readonly string[],
  complaints: Complaints,
  read: (raw: unknown, path: string, complaints: Complaints) => P | undefined,
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

/** Parses name, protocol (default TCP) and number of a port. */
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
