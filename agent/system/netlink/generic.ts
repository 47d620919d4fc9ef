import { attribute } from "./attributes.ts";
import { readUint16, text } from "./values.ts";

/**
 * Generic netlink (linux/genetlink.h): message families with a name, and a number that the kernel chooses when it loads
 * their module. Numbers are in the byte order of the machine.
 */

/** Bytes of `struct genlmsghdr`: command, version, and two reserved. */
export const GENERIC_HEADER = 4;
/** GENL_ID_CTRL: the family with a fixed number, which resolves the others. */
export const CONTROL = 16;
/** CTRL_CMD_GETFAMILY, and the version of the control family. */
const GET_FAMILY = { command: 3, version: 2 } as const;
/** CTRL_ATTR_FAMILY_ID and CTRL_ATTR_FAMILY_NAME. */
const FAMILY = { id: 1, name: 2 } as const;

/** The payload of a message of a family: its header, and attributes. */
export function genericPayload(
  command: number,
  version: number,
  ...attributes: readonly Buffer[]
): Buffer {
  return Buffer.concat([Buffer.of(command, version, 0, 0), ...attributes]);
}

/** The payload of a request to `CONTROL` for the family of this name. The kernel may load its module. */
export function familyRequest(name: string): Buffer {
  const { command, version } = GET_FAMILY;
  return genericPayload(command, version, attribute(FAMILY.name, text(name)));
}

/** The number of the family in an answer of `CONTROL`; undefined if it has none. */
export function familyNumber(payload: Buffer): number | undefined {
  return readUint16(payload, { from: GENERIC_HEADER, to: payload.length }, FAMILY.id);
}
