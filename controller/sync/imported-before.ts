import { FAMILIES } from "../../api/address.ts";
import {
  CONTROLLER_NAME,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ENDPOINT_SLICES } from "../../common/kubernetes/kinds.ts";
import { importedSliceName } from "../import/imported-slices.ts";
import type { SliceFact } from "../model/facts.ts";
import { MOST_SLICES } from "../model/limits.ts";
import { parseImportedSlice } from "../model/parse-imported-slice.ts";
import { parseSliceContent } from "../model/slice-content.ts";
import { sliceName } from "../registry/names.ts";
import { FactStore } from "../stores/fact-store.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import type { Member } from "../stores/member.ts";

/** Milliseconds for which a start waits for the own registry, as for the confirmation of a list. */
const WAIT_MS = 10_000;

/** Dependencies of `ImportedBefore`. */
export interface ImportedBeforeOptions {
  /** The local cluster's registry. */
  readonly member: Pick<Member, "id" | "listed" | "namespace" | "slices">;
  /** Follows the local API server. */
  readonly follow: Follow;
  readonly clock: Clock;
  /** `isKnown` is true now. */
  readonly known: () => void;
}

/**
 * What the local cluster published before a restart: as its registry shows it, or, if that cannot be listed within ten
 * seconds, as its imported slices do, because local changes do not wait for a hub.
 */
export class ImportedBefore {
  readonly #options: ImportedBeforeOptions;
  /** By import. */
  readonly #slices = new FactStore<SliceFact>({
    parse: (object) => this.#parse(object),
    groupOf: (_key, _object, fact) => fact?.service,
    changed: () => undefined,
    problems: () => undefined,
  });
  #reader: Informer | undefined;
  #isRead = false;
  #cancel: Cancel;

  constructor(options: ImportedBeforeOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(WAIT_MS, () => this.#read());
  }

  /** True once either was listed. */
  get isKnown(): boolean {
    return this.#isRead || this.#options.member.listed;
  }

  /** The slices of one name. */
  slicesOf(key: ObjectKey): readonly SliceFact[] {
    const { member } = this.#options;
    return (member.listed ? member.slices : this.#slices).factsOf(key);
  }

  /** All slices. */
  slices(): Iterable<SliceFact> {
    const { member } = this.#options;
    return (member.listed ? member.slices : this.#slices).facts();
  }

  /** Reads no more: the registry is listed, or the controller stops. */
  async stop(): Promise<void> {
    this.#cancel();
    await this.#reader?.stop();
  }

  #read(): void {
    const { follow, known, member } = this.#options;
    if (member.listed) return;
    const labels = [
      LABEL_SERVICE_NAME,
      `${LABEL_MANAGED_BY}=${CONTROLLER_NAME}`,
      `${LABEL_SOURCE_CLUSTER}=${member.id}`,
    ];
    const reader = new Informer({
      query: { ...ENDPOINT_SLICES, labelSelector: labels.join() },
      sink: this.#slices,
      follow,
      listed: () => {
        this.#isRead = true;
        known();
      },
    });
    this.#reader = reader;
    reader.start();
  }

  #parse(object: unknown): Parsed<SliceFact> {
    const { fact, ...rest } = parseImportedSlice(object);
    const unlimited = { clusterSetCidrs: [], endpointCidrs: [] };
    const content = parseSliceContent(object, unlimited, new Complaints(""));
    const key = fact && this.#recorded(fact.import, namesOf(fact.key).name);
    if (fact === undefined || content === undefined || key === undefined) return rest;
    return { ...rest, fact: { key, service: fact.import, ...content } };
  }

  /** The key in the registry, of which an imported slice's name has a hash. */
  #recorded(service: ObjectKey, name: string): ObjectKey | undefined {
    const { id, namespace } = this.#options.member;
    for (let index = 0; index < MOST_SLICES; index++) {
      for (const family of FAMILIES) {
        const key = objectKey(namespace, sliceName(service, family, index));
        if (importedSliceName(service, id, key) === name) return key;
      }
    }
    return undefined;
  }
}
