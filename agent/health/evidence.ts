/** What the kernel knows of a family's endpoints, and where the verdicts are kept. */

/** Milliseconds between two looks at it. */
export const LOOK_MS = 500;

/** An endpoint that accepts TCP connections. */
export interface TcpEndpoint {
  /** Canonical. */
  readonly address: string;
  readonly port: number;
}

/** An endpoint whose last SYNs have no answer. */
export interface Waiting extends TcpEndpoint {
  /** Those that were recorded: a sample. */
  readonly syns: number;
  /** Milliseconds since the first of them. */
  readonly age: number;
  /** True if these were sent again, because others had no answer for a second. */
  readonly areRepeated: boolean;
}

/** An endpoint that was found silent, and has not answered since. */
export interface SilentEndpoint extends TcpEndpoint {
  /** Its cluster. */
  readonly cluster: string;
  /** True if all of the cluster was found silent. */
  readonly isWhole: boolean;
  /** Milliseconds until clients try it again, whatever a probe says. */
  readonly expires: number;
}

/** The evidence of one family or several. */
export interface Evidence {
  /** Makes sure that the kernel collects it. False if it does already; true if it begins now, without any verdict. Rejects with a coded error. */
  install(stop: AbortSignal): Promise<boolean>;
  /** Makes sure that the kernel does not, and returns the number of rules that were removed. Rejects with a coded error. */
  uninstall(): Promise<number>;
  /** None if the kernel does not collect it any more. Rejects with a coded error. */
  waiting(): Promise<Waiting[]>;
  silent(): Promise<SilentEndpoint[]>;
  /** Endpoints that have accepted a client's connection within these milliseconds, two seconds at most: a sample. */
  answering(within: number): Promise<TcpEndpoint[]>;
  /** Keeps verdicts until they expire, or their endpoints answer. */
  add(endpoints: readonly SilentEndpoint[]): Promise<void>;
  /** Drops verdicts; those that are gone already do not matter. */
  remove(endpoints: readonly TcpEndpoint[]): Promise<void>;
}
