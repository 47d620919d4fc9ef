import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { escaped } from "../../api/problem.ts";
import { CodedError } from "../../common/errors.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type BundleFile, type BundleOptions, collect } from "./collect.ts";

/** One line of a bundle's table of contents. */
export interface Content {
  readonly path: string;
  readonly bytes: number;
  /** Why it is missing. */
  readonly fault?: string;
}

/** Bytes of all files, before compression. */
const MOST_BYTES = 512 * 1024 * 1024;
/** Characters of a context's name in paths: those of EKS are long. */
const LONGEST_FOLDER = 60;

/** Contexts whose files are collected at the same time. */
const AT_ONCE = 4;
/** Pods of all these contexts that are read at the same time: each has up to five files of 8 MiB in memory. */
const PODS_AT_ONCE = 8;

/** Characters of a part of a path: that of an archive has 100 at most. */
const LONGEST_PART = 80;

/**
 * Writes what all contexts have into an archive, readable by its user only, and returns its contents. The last file of the archive is
 * `contents.txt`; nothing is left of an archive that is not complete. Rejects with CSP_FILE_UNWRITABLE, or the reason of the signal.
 */
export async function writeBundle(
  file: string,
  clusters: readonly Cluster[],
  options: BundleOptions & { readonly seconds: number; readonly program: string },
  signal: AbortSignal,
): Promise<Content[]> {
  const contents: Content[] = [];
  const archive = Readable.from(entries(clusters, options, contents, signal));
  try {
    // Created here or not at all: what is removed after a failure is ours.
    const target = await open(file, "wx", 0o600);
    try {
      await pipeline(archive, createGzip(), target.createWriteStream(), { signal });
    } catch (thrown) {
      await rm(file, { force: true });
      throw thrown;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new CodedError("CSP_FILE_UNWRITABLE", `${file}: ${why}`, { cause: thrown });
  }
  return contents;
}

async function* entries(
  clusters: readonly Cluster[],
  options: BundleOptions & { readonly seconds: number; readonly program: string },
  contents: Content[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let left = MOST_BYTES;
  const add = function* (
    named: string,
    { text, fault }: Omit<BundleFile, "path">,
    list: Content[],
  ) {
    const path = filePath(named);
    const content = Buffer.from(text);
    const full = content.length > left ? "the bundle is full" : undefined;
    const why = fault ?? full;
    list.push({
      path,
      bytes: why === undefined ? content.length : 0,
      ...(why !== undefined && { fault: why }),
    });
    if (why !== undefined) return;
    left -= content.length;
    yield entry(path, content, options.seconds);
  };
  yield* add("program.txt", { text: options.program }, contents);
  const podsAtOnce = Math.floor(PODS_AT_ONCE / Math.min(AT_ONCE, clusters.length));
  const sources = clusters.map((cluster, i) => {
    // Two names may be alike once they are shortened.
    const name = cluster.context.replaceAll(/[^\w.-]/g, "_").slice(-LONGEST_FOLDER);
    const of = { folder: `${i + 1}-${name}`, list: [] as Content[] };
    return { of, iterator: collect(cluster, { ...options, podsAtOnce }, signal) };
  });
  for await (const { of, item } of merged(sources, AT_ONCE)) {
    const { path, ...file } = item;
    yield* add(`${of.folder}/${path}`, file, of.list);
  }
  contents.push(...sources.flatMap(({ of }) => of.list));
  const lines = contents.map(
    ({ path, bytes, fault }) => `${path} ${escaped(String(fault ?? bytes))}\n`,
  );
  yield entry("contents.txt", Buffer.from(lines.join("")), options.seconds);
  yield END;
}

/** Where items come from. */
interface Source<Of, Item> {
  readonly of: Of;
  readonly iterator: AsyncIterator<Item>;
}

/**
 * The items of all sources, as they come. All sources are asked for their first item at once: a cluster that does not answer delays no
 * other one. After it, `most` sources are read at the same time. A source is read on when its item was taken.
 */
async function* merged<Of, Item>(
  sources: readonly Source<Of, Item>[],
  most: number,
): AsyncGenerator<{ readonly of: Of; readonly item: Item }> {
  const asked = new Map<Source<Of, Item>, ReturnType<typeof answerOf>>();
  const answerOf = async (source: Source<Of, Item>) => {
    const result = await source.iterator.next();
    return { source, result };
  };
  for (const source of sources) asked.set(source, answerOf(source));
  const reading = new Set<Source<Of, Item>>();
  const waiting: Source<Of, Item>[] = [];
  while (asked.size > 0) {
    const { source, result } = await Promise.race(asked.values());
    asked.delete(source);
    if (result.done === true) reading.delete(source);
    else {
      yield { of: source.of, item: result.value };
      if (reading.has(source)) asked.set(source, answerOf(source));
      else waiting.push(source);
    }
    for (const next of waiting.splice(0, most - reading.size)) {
      reading.add(next);
      asked.set(next, answerOf(next));
    }
  }
}

/** A path below the archive: names of pods and namespaces are whatever an API server answers. */
function filePath(path: string): string {
  const parts = path.split("/").map((part) => {
    const plain = part.replaceAll(/[^\w.-]/g, "_").slice(0, LONGEST_PART);
    return /^\.*$/.test(plain) ? "_" : plain;
  });
  return parts.join("/");
}

/** Bytes of a block: headers have one, and contents are padded to whole ones. */
const BLOCK = 512;
/** Octal digits of each number, and where the fields of a header begin (POSIX ustar). */
const NAME = { at: 0, length: 100 };
const PREFIX = { at: 345, length: 155 };
const CHECKSUM = { at: 148, length: 8 };

/** A regular file of an archive, with its padding. Throws a RangeError if the path is too long. PURE. */
export function entry(path: string, content: Buffer, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const text = (value: string, at: number) => header.write(value, at, "utf8");
  const number = (value: number, at: number, length: number) =>
    text(value.toString(8).padStart(length - 1, "0"), at);
  const { prefix, name } = split(path);
  text(name, NAME.at);
  number(0o644, 100, 8);
  number(0, 108, 8);
  number(0, 116, 8);
  number(content.length, 124, 12);
  number(seconds, 136, 12);
  text("0", 156);
  text("ustar\0", 257);
  text("00", 263);
  text(prefix, PREFIX.at);
  // As if the checksum were spaces.
  header.fill(" ", CHECKSUM.at, CHECKSUM.at + CHECKSUM.length);
  const sum = header.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM.at);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

/** What ends an archive. */
export const END = Buffer.alloc(2 * BLOCK);

function split(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= NAME.length) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX.length && Buffer.byteLength(name) <= NAME.length)
      return { prefix, name };
  }
  throw new RangeError(`${path}: too long for an archive`);
}
