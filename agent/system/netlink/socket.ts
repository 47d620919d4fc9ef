import { getSystemErrorName } from "node:util";
import type { RawNetlinkSocket } from "netlink/dist/raw.js";
import { CodedError } from "../../../common/errors.ts";
import { ACK, DUMP, type Reply, readMessages, request } from "./message.ts";

/** Netlink protocols (linux/netlink.h): addresses and links, netfilter, and families by name. */
export const NETLINK = { route: 0, netfilter: 12, generic: 16 } as const;
/** NFNL_MSG_BATCH_BEGIN and NFNL_MSG_BATCH_END (linux/netfilter/nfnetlink.h). */
const BATCH_BEGIN = 0x10;
const BATCH_END = 0x11;
/** Milliseconds to wait for an answer. */
const TIMEOUT = 10_000;
/** More of them: after SIGCONT, a timer may come before an answer that has arrived long ago. */
const GRACE = 1_000;
/**
 * Requests in a batch. So many answers never fill the socket's buffer; an overrun would end the process in netlink 0.3.0
 * (an exception outside of JavaScript).
 */
const MOST_AT_ONCE = 32;

/** Bytes of the largest message that the kernel sends in a dump (`netlink_dump`). */
const LARGE = 32_768;

/** Options of a `NetlinkSocket`. */
export interface SocketOptions {
  /**
   * True for large dumps of what the kernel searches from its beginning for each message, such as sets of nftables: it sends messages as large
   * as the reader's buffer. A larger reply, such as an error with a larger request, is then cut, and rejected.
   */
  readonly largeReplies?: boolean;
}

/** The exchange under way. */
interface Exchange {
  readonly onReply: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sockets that are kept for the next piece of work, of each kind. The kernel frees deleted objects of nftables before it closes a socket of
 * netfilter, whatever it was used for: 5 to 17 ms (6.18), in which nothing else runs here.
 */
const MOST_IDLE = 2;

/**
 * A netlink socket for dumps and batches of requests, one after the other. Sequence numbers tell late answers to earlier requests; after a failure it is
 * closed.
 */
export class NetlinkSocket {
  static readonly #idle = new Map<string, NetlinkSocket[]>();
  readonly #socket: RawNetlinkSocket;
  #failed = false;
  #sequence = 0;
  #exchanging: Exchange | undefined;

  private constructor(socket: RawNetlinkSocket) {
    this.#socket = socket;
    socket.on("message", (bytes, { port }) => {
      // Any process may send to this socket; the kernel's port is 0.
      if (port === 0) this.#receive(bytes);
    });
    socket.on("truncatedMessage", () => this.#fail("truncated message"));
    socket.on("error", (error) => this.#fail(String(error), error));
  }

  /** Rejects with CSP_NETLINK_UNAVAILABLE if netlink's native part does not load or the kernel lacks this part. */
  static async open(
    protocol: (typeof NETLINK)[keyof typeof NETLINK],
    { largeReplies = false }: SocketOptions = {},
  ): Promise<NetlinkSocket> {
    try {
      // The package's main module also loads Wi-Fi and WireGuard: 7 MB of memory.
      const { RawNetlinkSocket } = await import("netlink/dist/raw.js");
      // Zero: the system's default.
      return new NetlinkSocket(
        new RawNetlinkSocket(protocol, {
          ...{ recvBufferSize: 0, sendBufferSize: 0 },
          ...(largeReplies && { messagePeeking: false, msgBufferSize: LARGE }),
        }),
      );
    } catch (cause) {
      throw new CodedError("CSP_NETLINK_UNAVAILABLE", `netlink: ${firstLine(cause)}`, { cause });
    }
  }

  /** Runs `work` on a socket that nothing else uses meanwhile. Rejects as `open` and `work` do. */
  static async use<Result>(
    protocol: (typeof NETLINK)[keyof typeof NETLINK],
    work: (socket: NetlinkSocket) => Promise<Result>,
    options: SocketOptions = {},
  ): Promise<Result> {
    const kind = `${protocol} ${options.largeReplies === true}`;
    const idle = NetlinkSocket.#idle.get(kind) ?? [];
    NetlinkSocket.#idle.set(kind, idle);
    const kept = idle.pop();
    // An idle socket does not keep the process running.
    if (kept !== undefined) kept.#socket.ref();
    const socket = kept ?? (await NetlinkSocket.open(protocol, options));
    try {
      const result = await work(socket);
      if (!socket.#failed && idle.length < MOST_IDLE) {
        socket.#socket.unref();
        idle.push(socket);
      } else socket.close();
      return result;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /**
   * Requests a dump and passes each message to `onData`. Returns true if the table changed meanwhile, so that messages may
   * be missing. Rejects with CSP_NETLINK_FAILED.
   */
  async dump(
    type: number,
    payload: Uint8Array,
    onData: (payload: Buffer) => void,
  ): Promise<boolean> {
    const { errno, interrupted } = await this.tryDump(type, payload, onData);
    if (errno !== 0) throw rejected("dump", errno);
    return interrupted;
  }

  /** As `dump`, but returns the error of the kernel: 0 or a positive errno. */
  async tryDump(
    type: number,
    payload: Uint8Array,
    onData: (payload: Buffer) => void,
  ): Promise<{ readonly errno: number; readonly interrupted: boolean }> {
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
    return { errno, interrupted };
  }

  /** Sends one request and passes the data to `onData`. Returns 0 or a positive errno. Rejects with CSP_NETLINK_FAILED without an answer. */
  async ask(
    type: number,
    payload: Uint8Array,
    onData?: (payload: Buffer) => void,
    flags = 0,
  ): Promise<number> {
    const [errno = 0] = await this.#batch(type, [payload], flags, onData);
    return errno;
  }

  /**
   * Sends a request for each item, some at a time, which alone are encoded, and passes 0 or a positive errno for each to
   * `onAnswer`, in order. Ends early once `stop` is aborted. Rejects with CSP_NETLINK_FAILED without an answer, and with what
   * `onAnswer` throws; then all requests of that batch are made.
   */
  async askEach<Item>(
    type: number,
    items: readonly Item[],
    encode: (item: Item) => Uint8Array,
    onAnswer: (errno: number, item: Item) => void,
    { flags = 0, stop }: { readonly flags?: number; readonly stop?: AbortSignal | undefined } = {},
  ): Promise<void> {
    for (let i = 0; i < items.length && !stop?.aborted; i += MOST_AT_ONCE) {
      const batch = items.slice(i, i + MOST_AT_ONCE);
      const answers = await this.#batch(
        type,
        batch.map((item) => encode(item)),
        flags,
      );
      for (const [k, item] of batch.entries()) onAnswer(answers[k] ?? 0, item);
    }
  }

  /**
   * Sends the messages of one netfilter transaction, which the kernel makes live as a whole or not at all. Returns the first error:
   * 0 or a positive errno, with the index of the message, -1 for an error of the whole. Rejects with CSP_NETLINK_FAILED without an answer.
   */
  async transaction(
    subsystem: number,
    messages: readonly {
      readonly type: number;
      readonly flags?: number;
      readonly payload: Uint8Array;
    }[],
  ): Promise<{ readonly errno: number; readonly at: number }> {
    // `struct nfgenmsg` without a family, whose resource ID is the subsystem.
    const header = Buffer.of(0, 0, subsystem >> 8, subsystem & 0xff);
    const first = this.#sequence + 1;
    this.#sequence += messages.length + 2;
    const last = messages.length - 1;
    const requests = messages.map(({ type, flags = 0, payload }, i) =>
      request(type, flags | (i === last ? ACK : 0), first + 1 + i, payload),
    );
    const all = [
      request(BATCH_BEGIN, 0, first, header),
      ...requests,
      request(BATCH_END, 0, first + messages.length + 1, header),
    ];
    let error = { errno: 0, at: -1 };
    await this.#exchange<void>(all, (reply, done) => {
      const at = reply.sequence - first - 1;
      if (reply.kind === "data" || at < -1 || at > messages.length) return;
      if (error.errno === 0 && reply.errno !== 0) error = { errno: reply.errno, at };
      // Errors come in order; one of the whole transaction (a failed commit, no right) has the number of its beginning.
      if (at === last || at === -1) done();
    });
    return error;
  }

  async #batch(
    type: number,
    payloads: readonly Uint8Array[],
    flags: number,
    onData?: (payload: Buffer) => void,
  ): Promise<number[]> {
    const answers = payloads.map(() => 0);
    const first = this.#sequence + 1;
    this.#sequence += payloads.length;
    const last = payloads.length - 1;
    // The kernel processes requests in order and always reports errors, so only the last one needs an acknowledgement.
    const messages = payloads.map((payload, i) =>
      request(type, flags | (i === last ? ACK : 0), first + i, payload),
    );
    await this.#exchange<void>(messages, (reply, done) => {
      const index = reply.sequence - first;
      if (answers[index] === undefined) return;
      if (reply.kind === "data") return onData?.(reply.payload);
      answers[index] = reply.errno;
      if (index === last) done();
    });
    return answers;
  }

  /** Closes the socket and rejects the exchange under way. */
  close(): void {
    this.#exchanging?.reject(new CodedError("CSP_NETLINK_FAILED", "netlink: closed"));
    this.#exchanging = undefined;
    // netlink 0.3.0 uses a socket once more after its callback; if that closed it, the process dies.
    setImmediate(() => this.#socket.close());
  }

  #exchange<T>(
    messages: readonly Buffer[],
    onReply: (reply: Reply, done: (result: T) => void) => void,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let overdue: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => {
      overdue = setTimeout(() => this.#fail("no answer from the kernel"), GRACE);
    }, TIMEOUT);
    this.#exchanging = {
      onReply: (reply) => {
        clearTimeout(overdue);
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
      clearTimeout(overdue);
      this.#exchanging = undefined;
    });
  }

  #receive(bytes: Buffer): void {
    const replies = readMessages(bytes);
    if (replies === undefined) this.#fail("malformed message from the kernel");
    else for (const reply of replies) this.#exchanging?.onReply(reply);
  }

  #fail(why: string, cause?: unknown): void {
    this.#failed = true;
    this.#exchanging?.reject(new CodedError("CSP_NETLINK_FAILED", `netlink: ${why}`, { cause }));
  }
}

/** The error for a request that the kernel rejects: CSP_NETLINK_FAILED. */
export function rejected(what: string, errno: number): CodedError {
  return new CodedError("CSP_NETLINK_FAILED", `netlink: ${what}: ${nameOf(errno)}`);
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
