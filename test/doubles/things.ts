import { at, type Fields, put } from "./memory/fields.ts";
import type { MemoryObjects } from "./memory/object-table.ts";

/** Objects of one simple kind: `things` of the namespace `shop`, each with a number. */
export class Things {
  /** True if the server has gone back in time. */
  restored = false;
  /** The version at which each key last ceased to exist; infinite once versions went back. */
  readonly ends = new Map<string, number>();
  readonly #objects: MemoryObjects;

  constructor(objects: MemoryObjects) {
    this.#objects = objects;
    objects.listen(({ key, type, version }) => {
      if (type === "DELETED")
        this.ends.set(key, this.restored ? Number.POSITIVE_INFINITY : version);
    });
  }

  get version(): number {
    return this.#objects.version;
  }

  /** Values by key. */
  get values(): Map<string, number> {
    const all = this.#objects.list("things").map((object): [string, number] => {
      return [`shop/${String(at(object, ["metadata", "name"]))}`, Number(object.value)];
    });
    return new Map(all);
  }

  get(name: string): Fields | undefined {
    return this.#objects.get("things", `shop/${name}`);
  }

  put(name: string, value: number): void {
    const object = { metadata: { namespace: "shop", name }, value };
    this.#objects.replace("things", `shop/${name}`, object, "user");
  }

  delete(name: string): void {
    this.#objects.delete("things", `shop/${name}`);
  }

  /** Restores a backup with only these objects; watches get no event. */
  restore(names: readonly string[], version: number): void {
    const { stored } = this.#objects.save();
    for (const [id, { object }] of stored) {
      put(object, ["metadata", "resourceVersion"], String(version));
      if (names.some((name) => id === `things shop/${name}`)) continue;
      stored.delete(id);
      this.ends.set(id.replace("things ", ""), Number.POSITIVE_INFINITY);
    }
    this.#objects.restore({ stored, version });
    this.restored = true;
  }
}
