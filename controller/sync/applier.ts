import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiResource, ObjectName } from "../../common/kubernetes/api-resource.ts";
import { isOlder, type ObjectMeta } from "../../common/kubernetes/object-meta.ts";
import type { Removal } from "../../common/kubernetes/reflector-events.ts";
import type { ApiObject, ApiWriter } from "../../common/kubernetes/writer.ts";
import type { Manifest } from "../model/manifest.ts";
import { contentDigest, statusDigest } from "../stores/content-digest.ts";
import type { Seen } from "../stores/fact-store.ts";
import { Contests } from "./contests.ts";
import { UndeclaredFields } from "./undeclared-fields.ts";

/** What is told what a write was answered with: the feed of the kind. */
export interface Answered {
  wrote(object: unknown): void;
  erased(meta: ObjectMeta, how: Removal): void;
  rewound(): void;
}

/** What an `Applier` is made of. */
export interface ApplierOptions {
  readonly resource: ApiResource;
  readonly writer: Pick<ApiWriter, "apply" | "delete" | "get">;
  /** Where the objects of this kind come from; undefined while that is not known. */
  readonly feed: () => Answered | undefined;
  readonly clock: Clock;
}

/** What an object was like once this had been applied to it, where it says more than that. */
interface Outcome {
  readonly wanted: string;
  readonly left: string;
}

type Part = "content" | "status";

const DIGEST = { content: contentDigest, status: statusDigest } as const;

/**
 * Makes objects of one kind on one API server as they should be, and writes nothing where they are. An object is as it
 * should be if it says just what is wanted; or if it is as our last write of the same left it, whatever others
 * have added to it: so no two writers can go on for ever. Who turns it back is met ever more rarely (`overwritten`). After a
 * restart, an object with fields of others is applied once more, which changes nothing in it.
 */
export class Applier {
  readonly #options: ApplierOptions;
  readonly #undeclared = new UndeclaredFields();
  readonly #contests: Readonly<Record<Part, Contests>>;
  readonly #outcomes: Readonly<Record<Part, Map<string, Outcome>>> = {
    content: new Map(),
    status: new Map(),
  };

  constructor(options: ApplierOptions) {
    const { clock } = options;
    this.#options = options;
    this.#contests = { content: new Contests(clock), status: new Contests(clock) };
  }

  /**
   * Makes an object say this; `seen`: as it is now, undefined if there is none. True if that took a write. Throws an
   * ApiFault; after a `write-conflict` what is known of the object is up to date.
   */
  apply(manifest: Manifest, seen: Seen | undefined): Promise<boolean> {
    return this.#write("content", manifest, seen);
  }

  /** Makes the status of an object say this. As `apply`. */
  applyStatus(manifest: Manifest, seen: Seen): Promise<boolean> {
    return this.#write("status", manifest, seen);
  }

  /** An object as it is now, if it is still what it was seen to be; undefined if not. Throws an ApiFault. */
  async read(seen: Seen): Promise<unknown> {
    const { resource, writer } = this.#options;
    const found = await writer.get(resource, nameOf(seen.key));
    return found?.meta.resourceVersion === seen.resourceVersion ? found.object : undefined;
  }

  /** Deletes an object, if it is still what it was seen to be. As `apply`. */
  async remove(seen: Seen): Promise<void> {
    const { resource, writer, feed } = this.#options;
    const name = nameOf(seen.key);
    try {
      await writer.delete(resource, name, seen);
      this.#outcomes.content.delete(seen.key);
      this.#outcomes.status.delete(seen.key);
      feed()?.erased(seen, "deleted");
    } catch (thrown) {
      await this.#lookAgain(thrown, name, seen);
      throw thrown;
    }
  }

  async #write(part: Part, whole: Manifest, seen: Seen | undefined): Promise<boolean> {
    const { resource, writer, feed } = this.#options;
    const manifest = this.#undeclared.without(whole);
    const key = keyOf(manifest.metadata);
    const digest = DIGEST[part];
    const wanted = digest(manifest);
    if (seen !== undefined && this.#isDone(part, key, wanted, seen[part])) return false;
    if (this.#contests[part].isPaused(key, manifest)) {
      throw new ApiFault("overwritten", "Somebody else turns it back each time that it is written");
    }
    let answer: ApiObject;
    try {
      answer = await writer.apply(resource, manifest, {
        ...(part === "status" && { subresource: part }),
        ...(seen !== undefined && { seen }),
      });
    } catch (thrown) {
      if (this.#undeclared.learn(thrown)) return this.#write(part, whole, seen);
      await this.#lookAgain(thrown, manifest.metadata, seen);
      throw thrown;
    }
    this.#contests[part].wrote(key, manifest);
    const left = digest(answer.object);
    // What says just what is wanted needs no remembering: whoever deletes it would leave that behind.
    if (left === wanted) this.#outcomes[part].delete(key);
    else this.#outcomes[part].set(key, { wanted, left });
    feed()?.wrote(answer.object);
    return true;
  }

  #isDone(part: Part, key: string, wanted: string, found: string): boolean {
    if (found === wanted) return true;
    const outcome = this.#outcomes[part].get(key);
    return outcome?.wanted === wanted && outcome.left === found;
  }

  /** The object is not what we took it for: whatever it is now counts. */
  async #lookAgain(thrown: unknown, name: ObjectName, seen: Seen | undefined): Promise<void> {
    if (!(thrown instanceof ApiFault)) return;
    if (thrown.reason !== "write-conflict" && thrown.reason !== "absent") return;
    const { resource, writer, feed } = this.#options;
    const found = await writer.get(resource, name);
    // No event is to come of an object that is older than it was.
    if (isOlder(found?.meta.resourceVersion ?? "", seen?.resourceVersion ?? "")) feed()?.rewound();
    else if (found !== undefined) feed()?.wrote(found.object);
    else if (seen !== undefined) feed()?.erased(seen, "missing");
  }
}

function keyOf({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function nameOf(key: string): ObjectName {
  const [namespace = "", name] = key.split("/");
  return name === undefined ? { name: namespace } : { namespace, name };
}
