import { aligned } from "./attributes.ts";

/** Bytes of `struct nlmsghdr`. */
const HEADER = 16;
/** NLMSG_ERROR: an error, or with number 0 an acknowledgement. */
const ERROR = 2;
/** NLMSG_DONE: the end of a dump. */
const DONE = 3;
/** NLMSG_MIN_TYPE: lower types are control messages. */
const LEAST_TYPE = 16;

/** Flags of a request. */
export const REQUEST = 0x1;
export const ACK = 0x4;
/** NLM_F_ROOT | NLM_F_MATCH. */
export const DUMP = 0x300;
/** NLM_F_DUMP_INTR: the table changed during the dump, so messages may be missing. */
const INTERRUPTED = 0x10;

/** A message from the kernel. `sequence` is that of the request. */
export type Reply =
  | {
      readonly kind: "data";
      readonly sequence: number;
      readonly type: number;
      readonly payload: Buffer;
      readonly interrupted: boolean;
    }
  /** The end of a dump, or the answer to a request. `errno`: 0 or a positive number. */
  | {
      readonly kind: "end";
      readonly sequence: number;
      readonly errno: number;
      readonly interrupted: boolean;
    };

/** The messages of one datagram; undefined if it is malformed. Other control messages (NLMSG_NOOP) are skipped. */
export function readMessages(bytes: Buffer): Reply[] | undefined {
  const replies: Reply[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < HEADER) return undefined;
    const length = bytes.readUInt32LE(at);
    if (length < HEADER || at + length > bytes.length) return undefined;
    const type = bytes.readUInt16LE(at + 4);
    const interrupted = (bytes.readUInt16LE(at + 6) & INTERRUPTED) !== 0;
    const sequence = bytes.readUInt32LE(at + 8);
    const payload = bytes.subarray(at + HEADER, at + length);
    if (type >= LEAST_TYPE) replies.push({ kind: "data", sequence, type, payload, interrupted });
    else if (type === ERROR || type === DONE) {
      // Before 4.15, the end of a dump may have no number; an error always has one.
      if (payload.length < 4 && type === ERROR) return undefined;
      const number = payload.length < 4 ? 0 : payload.readInt32LE(0);
      replies.push({ kind: "end", sequence, errno: Math.max(0, -number), interrupted });
    }
    at += aligned(length);
  }
  return replies;
}

/** A request to the kernel, padded. */
export function request(
  type: number,
  flags: number,
  sequence: number,
  payload: Uint8Array,
): Buffer {
  const length = HEADER + payload.length;
  const bytes = Buffer.allocUnsafe(aligned(length));
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt16LE(flags | REQUEST, 6);
  bytes.writeUInt32LE(sequence, 8);
  // Our port; 0: the kernel assigns it.
  bytes.writeUInt32LE(0, 12);
  bytes.set(payload, HEADER);
  return bytes.fill(0, length);
}
