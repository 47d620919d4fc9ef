import { getSystemErrorName } from "node:util";
import type { RawNetlinkSocket } from "netlink/dist/raw.js";
import { CodedError } from "../../../common/errors.ts";
import { ACK, DUMP, type Reply, readMessages, request } from "./message.ts";

/** What a conversation may be with (linux/netlink.h): addresses and links, netfilter, or a family by name. */
export const NETLINK = { route: 0, netfilter: 12, generic: 16 } as const;
/** Milliseconds without an answer after which the kernel is given up. */
const TIMEOUT = 10_000;
/**
 * Requests that are sent together and may wait for their answers: an overrun of the socket's buffer ends the
 * process in netlink 0.3.0 (an exception outside of JavaScript), and this many answers never fill it.
 */
export const MOST_AT_ONCE = 32;

/** What is being waited for. */
interface Waiting {
  readonly onReply: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A conversation with a part of the kernel: dumps and batches of requests, one after the other. Meant for one piece
 * of work, and closed after it: nothing of a conversation that failed reaches the next.
 */
export class NetlinkSocket {
  readonly #socket: RawNetlinkSocket;
  #sequence = 0;
  #waiting: Waiting | undefined;

  private constructor(socket: RawNetlinkSocket) {
    this.#socket = socket;
    socket.on("message", (bytes, { port }) => {
      // Any process may send to our address; the kernel's is 0.
      if (port === 0) this.#hear(bytes);
    });
    socket.on("truncatedMessage", () => this.#fail("a message was cut off"));
    socket.on("error", (error) => this.#fail(String(error), error));
  }

  /** Rejects with CSP_NETLINK_UNAVAILABLE if netlink's native part does not load or the kernel lacks this part. */
  static async open(protocol: (typeof NETLINK)[keyof typeof NETLINK]): Promise<NetlinkSocket> {
    try {
      // Not the package's own door: behind it are Wi-Fi and WireGuard, 7 MB of memory that nobody here needs.
      const { RawNetlinkSocket } = await import("netlink/dist/raw.js");
      // Zero leaves the buffers as the system has them.
      return new NetlinkSocket(
        new RawNetlinkSocket(protocol, { recvBufferSize: 0, sendBufferSize: 0 }),
      );
    } catch (cause) {
      throw new CodedError("CSP_NETLINK_UNAVAILABLE", `netlink: ${firstLine(cause)}`, { cause });
    }
  }

  /**
   * Asks for many messages, and gives each to `onData`. Returns true if the kernel says that the table changed
   * under its hands, and some may be missing. Rejects with CSP_NETLINK_FAILED.
   */
  async dump(
    type: number,
    payload: Uint8Array,
    onData: (payload: Buffer) => void,
  ): Promise<boolean> {
    const sequence = ++this.#sequence;
    let interrupted = false;
    const errno = await this.#exchange<number>(
      [request(type, DUMP, sequence, payload)],
      (reply, done) => {
        if (reply.sequence !== sequence) return;
        interrupted ||= reply.interrupted;
        if (reply.kind === "data") onData(reply.payload);
        else done(reply.errno);
      },
    );
    if (errno !== 0) throw refused(errno);
    return interrupted;
  }

  /**
   * Asks for one thing, and gives what the kernel says of it to `onData`. Returns how it ended: 0, or a positive error
   * number. Rejects with CSP_NETLINK_FAILED if there is no answer.
   */
  ask(type: number, payload: Uint8Array, onData: (payload: Buffer) => void): Promise<number> {
    const sequence = ++this.#sequence;
    return this.#exchange<number>([request(type, ACK, sequence, payload)], (reply, done) => {
      if (reply.sequence !== sequence) return;
      if (reply.kind === "data") onData(reply.payload);
      else done(reply.errno);
    });
  }

  /**
   * Sends up to `MOST_AT_ONCE` requests in one go, and gives the kernel's answer to each: 0, or a positive error
   * number. Rejects with CSP_NETLINK_FAILED if there is no answer. `flags`: beside those of every request.
   */
  async batch(type: number, payloads: readonly Uint8Array[], flags = 0): Promise<number[]> {
    if (payloads.length > MOST_AT_ONCE) throw new RangeError(`${payloads.length} requests at once`);
    const answers = payloads.map(() => 0);
    if (payloads.length === 0) return answers;
    const first = this.#sequence + 1;
    this.#sequence += payloads.length;
    const last = payloads.length - 1;
    // The kernel takes requests in their order, and tells of an error unasked: the last answer says that all is done.
    const messages = payloads.map((payload, i) =>
      request(type, flags | (i === last ? ACK : 0), first + i, payload),
    );
    await this.#exchange<void>(messages, (reply, done) => {
      const index = reply.sequence - first;
      if (reply.kind === "data" || answers[index] === undefined) return;
      answers[index] = reply.errno;
      if (index === last) done();
    });
    return answers;
  }

  /** Ends the conversation; whoever still waits is told. */
  close(): void {
    this.#waiting?.reject(new CodedError("CSP_NETLINK_FAILED", "netlink: closed"));
    this.#waiting = undefined;
    // In netlink 0.3.0 a socket that is closed by its own callback is used once more, and the process dies.
    setImmediate(() => this.#socket.close());
  }

  #exchange<T>(
    messages: readonly Buffer[],
    onReply: (reply: Reply, done: (result: T) => void) => void,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => this.#fail("the kernel does not answer"), TIMEOUT);
    this.#waiting = {
      onReply: (reply) => {
        timer.refresh();
        onReply(reply, resolve);
      },
      reject,
    };
    this.#socket.send(Buffer.concat(messages), undefined, (error) => {
      if (error !== undefined) this.#fail(error.message, error);
    });
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waiting = undefined;
    });
  }

  #hear(bytes: Buffer): void {
    const replies = readMessages(bytes);
    if (replies === undefined) this.#fail("a message of the kernel is malformed");
    else for (const reply of replies) this.#waiting?.onReply(reply);
  }

  #fail(why: string, cause?: unknown): void {
    this.#waiting?.reject(new CodedError("CSP_NETLINK_FAILED", `netlink: ${why}`, { cause }));
  }
}

function refused(errno: number): CodedError {
  return new CodedError("CSP_NETLINK_FAILED", `netlink: the kernel says ${nameOf(errno)}`);
}

/** `ENOENT` for 2. */
export function nameOf(errno: number): string {
  try {
    return getSystemErrorName(-errno);
  } catch {
    return `error ${errno}`;
  }
}

function firstLine(thrown: unknown): string {
  return String(thrown instanceof Error ? thrown.message : thrown).split("\n", 1)[0] ?? "";
}
