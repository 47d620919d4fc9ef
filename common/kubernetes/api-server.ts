import type { Recovery } from "./recovery.ts";

/** A request: to read something, or to write. */
export interface ApiRequest {
  /** Path and query. */
  readonly path: string;
  /** Ends the request and its body at once, whatever they are waiting for. */
  readonly signal: AbortSignal;
  /** Milliseconds that the body may say nothing for. */
  readonly silence: number;
  /** True: the answer may be compressed on its way. Not for a watch: a proxy would hold events back. */
  readonly compress?: boolean;
  /** What is written; absent: it reads. */
  readonly write?: ApiWrite;
}

/** What a request writes. */
export interface ApiWrite {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly body: unknown;
  /** What the JSON means, such as a kind of patch; `application/json` if it is not said. */
  readonly contentType?: string;
}

/** An answer, whatever its status. */
export interface ApiResponse {
  readonly status: number;
  /** A header by its name in small letters. */
  header(name: string): string | undefined;
  /**
   * The body, as it arrives, decompressed. To be read to its end, or left by `return` or the signal. Throws an
   * ApiFault: `unreachable` where it breaks off, `stalled` where it falls silent.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * An API server: an address, and how to prove who asks. Nothing waits for ever: the time to connect, to
 * authenticate and to begin an answer is limited.
 */
export interface ApiServer {
  /** Where it is, for people. */
  readonly address: string;
  /** What all learn from each other who ask it by way of this. */
  readonly recovery: Recovery;
  /**
   * Asks; gives any answer that there is. Throws an ApiFault: `unreachable`, `stalled` or `no-credentials`. Of a write
   * nobody knows then whether it was done. It is sent once, whatever becomes of it.
   */
  request(request: ApiRequest): Promise<ApiResponse>;
  /** Ends all connections. */
  close(): Promise<void>;
}
