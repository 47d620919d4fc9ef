import { ApiFault } from "./api-fault.ts";
import type { Connection } from "./connection.ts";
import { ItemSplitter } from "./item-splitter.ts";
import { field, parseJson, textField } from "./json.ts";
import { LONGEST_OBJECT } from "./longest-object.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import { apiVersionOf, type ListOptions, listPath } from "./resource-path.ts";
import type { ResourceQuery } from "./resource-query.ts";

/** Objects in a page, as client-go asks for. A page is split while it arrives: its size costs nothing here. */
const PAGE = 500;
/** Pages of a list. No API server holds 5 million objects, but `continue` may lead in a circle. */
const MOST_PAGES = 10_000;
/** Milliseconds of silence in the middle of a list: the server has all of it at hand when it begins. */
const SILENCE_MS = 30_000;

/** Takes an object of a list; `at` in milliseconds of the clock. */
export type TakeListed = (object: unknown, meta: ObjectMeta, at: number) => void;

/** Lists what a query names, page by page; gives the version of the list. Throws an ApiFault. */
export async function listPages(
  connection: Connection,
  query: ResourceQuery,
  version: string,
  take: TakeListed,
): Promise<string> {
  const first = await readPage(connection, query, version, { limit: PAGE }, take);
  let next = first.next;
  for (let page = 1; next !== ""; page++) {
    if (page === MOST_PAGES) throw new ApiFault("garbage", `A list of more than ${page} pages`);
    const options = { limit: PAGE, continue: next };
    ({ next } = await readPage(connection, query, version, options, take));
  }
  return first.version;
}

/**
 * The version that the server has reached, at the cost of one object: labels are left out of the question,
 * because a server may have to read everything to find one object that has them. Throws an ApiFault.
 */
export async function currentVersion(
  connection: Connection,
  query: ResourceQuery,
  version: string,
): Promise<string> {
  const options = { limit: 1, anyLabel: true };
  return (await readPage(connection, query, version, options, () => {})).version;
}

/** A page, when it has been read. */
interface PageEnd {
  readonly version: string;
  /** What to continue with; empty after the last page. */
  readonly next: string;
}

async function readPage(
  connection: Connection,
  query: ResourceQuery,
  version: string,
  options: ListOptions,
  take: TakeListed,
): Promise<PageEnd> {
  const path = listPath(query, version, options);
  const splitter = new ItemSplitter(LONGEST_OBJECT);
  for await (const { bytes, at } of connection.read({
    path,
    silence: SILENCE_MS,
    compress: true,
  })) {
    for (const item of splitter.push(bytes)) {
      const object = parseJson(item);
      const meta = metaOf(object);
      if (meta === undefined) throw new ApiFault("garbage", "A list of what are no objects");
      take(object, meta, at);
      await connection.breathe();
    }
  }
  return pageEnd(splitter.end(), apiVersionOf(query, version));
}

function pageEnd(list: unknown, apiVersion: string): PageEnd {
  const metadata = field(list, "metadata");
  const version = textField(metadata, "resourceVersion") ?? "";
  if (version === "" || textField(list, "apiVersion") !== apiVersion) {
    throw new ApiFault("garbage", `Not a list of ${apiVersion}`);
  }
  return { version, next: textField(metadata, "continue") ?? "" };
}
