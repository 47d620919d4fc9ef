import type { CredentialExpiry } from "./credential-expiry.ts";
import type { Recovery } from "./recovery.ts";

/** A read or write request. */
export interface ApiRequest {
  /** Path and query. */
  readonly path: string;
  /** Ends the request and its body immediately. */
  readonly signal: AbortSignal;
  /** Maximum milliseconds without data in the body. */
  readonly silence: number;
  /** True: the response may be compressed. Not for a watch: a proxy would delay events. */
  readonly compress?: boolean;
  /** Absent for a read. */
  readonly write?: ApiWrite;
}

/** The payload of a write request. */
export interface ApiWrite {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly body: unknown;
  /** Such as the type of a patch; `application/json` by default. */
  readonly contentType?: string;
}

/** A response of any status. */
export interface ApiResponse {
  readonly status: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The decompressed body; read it to its end, or leave it. Throws an ApiFault: `unreachable` or `stalled`. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** An API server with credentials. The time to connect, to authenticate and to begin a response is limited. */
export interface ApiServer {
  /** Its address, for people. */
  readonly address: string;
  /** Shared by all clients of this server. */
  readonly recovery: Recovery;
  /** When the credentials of the last request expire; absent if that is unknown. */
  readonly expiries?: readonly CredentialExpiry[];
  /**
   * Sends a request; returns the response, whatever its status. Throws an ApiFault: `unreachable`, `stalled` or
   * `no-credentials`; a write may then have been processed or not. A write is sent only once.
   */
  request(request: ApiRequest): Promise<ApiResponse>;
  /** Closes all connections. */
  close(): Promise<void>;
}
