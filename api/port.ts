import type { Protocol } from "./protocol.ts";

/** A port of a ServiceImport, or of the endpoints of a slice. */
export interface Port {
  /** Empty if unnamed. Ports of imports and slices are matched by name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}
