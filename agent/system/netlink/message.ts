import { aligned } from "./attributes.ts";

/** Bytes of `struct nlmsghdr`. */
const HEADER = 16;
/** NLMSG_ERROR: an error, or, with number 0, an acknowledgement. */
const ERROR = 2;
/** NLMSG_DONE: the end of a dump. */
const DONE = 3;
/** NLMSG_MIN_TYPE: below are the control messages. */
const LEAST_TYPE = 16;

/** Flags of a request. */
export const REQUEST = 0x1;
export const ACK = 0x4;
/** NLM_F_ROOT | NLM_F_MATCH. */
export const DUMP = 0x300;
/** NLM_F_DUMP_INTR: what was dumped changed meanwhile, and some of it may be missing. */
const INTERRUPTED = 0x10;

/** What one message of the kernel says. `sequence` is that of the request that it answers. */
export type Reply =
  | {
      readonly kind: "data";
      readonly sequence: number;
      readonly type: number;
      readonly payload: Buffer;
      readonly interrupted: boolean;
    }
  /** The end of a dump, or the answer to a request. `errno`: 0 if it went well, else a positive number. */
  | {
      readonly kind: "end";
      readonly sequence: number;
      readonly errno: number;
      readonly interrupted: boolean;
    };

/**
 * The messages of one datagram. Undefined if the bytes are not messages. Control messages without meaning
 * (NLMSG_NOOP) are passed over.
 */
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
      // A dump's end may come without a number (before 4.15); an error's never does.
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
  // Our own port: 0 leaves that to the kernel.
  bytes.writeUInt32LE(0, 12);
  bytes.set(payload, HEADER);
  return bytes.fill(0, length);
}
