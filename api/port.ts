import type { Protocol } from "./protocol.ts";

/** A port of a ServiceImport, which clients connect to, or of a slice, where its endpoints listen. */
export interface Port {
  /** Empty if the port has no name; names are what joins the two kinds. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}
