import { attribute, locate } from "./attributes.ts";

/**
 * Generic netlink (linux/genetlink.h): families of messages that have a name, and a number that the kernel chooses
 * when their module is loaded. Numbers are in the byte order of the machine.
 */

/** Bytes of `struct genlmsghdr`: command, version, and two reserved. */
export const GENERIC_HEADER = 4;
/** GENL_ID_CTRL: the one family whose number is known, which knows the others. */
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

/** The payload of a request to `CONTROL` for the family of this name. The kernel loads a module for it, if it must. */
export function familyRequest(name: string): Buffer {
  const value = Buffer.from(`${name}\0`, "latin1");
  return genericPayload(GET_FAMILY.command, GET_FAMILY.version, attribute(FAMILY.name, value));
}

/** The number of the family that an answer of `CONTROL` tells of; undefined if it tells of none. */
export function familyNumber(payload: Buffer): number | undefined {
  if (payload.length < GENERIC_HEADER) return undefined;
  const all = { from: GENERIC_HEADER, to: payload.length };
  const at = locate(payload, all, FAMILY.id);
  return at === undefined || at.to - at.from < 2 ? undefined : payload.readUInt16LE(at.from);
}
