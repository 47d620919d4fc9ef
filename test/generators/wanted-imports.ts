import assert from "node:assert/strict";
import type { Cidr } from "../../api/cidr.ts";
import type { VipPool } from "../../controller/allocate/pool.ts";
import {
  type ImportInput,
  type ImportWanted,
  importOf,
} from "../../controller/import/import-of.ts";
import { importStatus } from "../../controller/import/status-manifest.ts";
import { merge } from "../../controller/merge/merge.ts";
import type { ExportRecord, ImportFact } from "../../controller/model/facts.ts";
import type { Manifest } from "../../controller/model/manifest.ts";
import { parseImport } from "../../controller/model/parse-import.ts";
import { KEY } from "./export-records.ts";
import { cidr } from "./facts.ts";

/** Ranges. */
export function cidrs(...texts: readonly string[]): Cidr[] {
  return texts.map(cidr);
}

/** A range of each family, of which nothing is taken. */
export const POOL: VipPool = {
  ranges: cidrs("241.0.0.0/16", "fd00::/112"),
  taken: new Set(),
  reserved: [],
};

/** A user-managed import, as an API server returns it. */
export function byHand(spec: object = {}, status: object = {}): ImportFact {
  const { fact } = parseImport({
    metadata: { namespace: "demo", name: "serve" },
    spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ...spec },
    status,
  });
  assert.ok(fact !== undefined);
  return fact;
}

/** A user-managed import without a VIP. */
export const BY_HAND = byHand();

/** What is different from an import of which nothing is seen. */
export interface Sight extends Partial<Omit<ImportInput, "merged">> {
  readonly records?: readonly ExportRecord[];
}

/** The wanted import of the merged records. */
export function wanted({ records = [], ...over }: Sight): ImportWanted | undefined {
  const merged = merge(records);
  return importOf({
    key: KEY,
    pool: POOL,
    explicitVipCidrs: cidrs("1.2.3.0/24", "5.6.7.8/32"),
    held: [],
    dispute: () => undefined,
    isSynced: () => true,
    isSilent: () => false,
    allSynced: true,
    ...(merged !== undefined && { merged }),
    ...over,
  });
}

/** The object as the API server stores it after the write, with a status. */
export function seenAfter(wanted: ImportWanted | undefined): ImportFact {
  assert.ok(wanted?.object !== undefined && wanted.status !== undefined);
  const { fact } = parseImport({ ...wanted.object, status: status(wanted, BY_HAND).status });
  assert.ok(fact !== undefined);
  return fact;
}

/** The status of the applied object. */
export function status({ status }: ImportWanted, seen: ImportFact, now = 0): Manifest {
  assert.ok(status !== undefined);
  return importStatus(seen, status, now);
}

/** `spec` of the applied object. */
export function spec(wanted: ImportWanted | undefined): unknown {
  return wanted?.object?.spec;
}

/** The VIPs of the applied object. */
export function ipsOf(wanted: ImportWanted | undefined): readonly string[] {
  return (spec(wanted) as { readonly ips: readonly string[] }).ips;
}

/** `status reason: message` of the condition Ready that it claims. */
export function readyOf(
  wanted: { readonly status?: ImportWanted["status"] | undefined } | undefined,
): string {
  const [claim] = wanted?.status?.claims ?? [];
  return `${claim?.status} ${claim?.reason}: ${claim?.message}`;
}

/** A dispute in which one VIP is another import's. */
export const taken = (ip: string) => (vip: string) => (vip === ip ? "vip-conflict" : undefined);
