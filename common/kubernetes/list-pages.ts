import { field, textField } from "../../api/parse/fields.ts";
import { ApiFault, firstServed } from "./api-fault.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { ItemSplitter } from "./item-splitter.ts";
import { LONGEST_OBJECT, parseJson } from "./json.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import type { ResourceQuery } from "./resource.ts";
import { apiVersionOf, type ListOptions, listPath } from "./resource.ts";

/** Objects per page, as in client-go. A page is parsed while it arrives, so its size costs no memory. */
const PAGE = 500;
/** Maximum pages of a list. No API server holds 5 million objects, but `continue` tokens could loop. */
const MOST_PAGES = 10_000;
/** Maximum milliseconds without data inside a page: the server has all of it in memory when it starts sending. */
const SILENCE_MS = 30_000;

/** Receives an object of a list; `at`: time of arrival, in milliseconds of the clock. */
export type TakeListed = (object: unknown, meta: ObjectMeta, at: number) => void;

/** Lists the objects of a query, page by page; returns the resourceVersion of the list. Throws an ApiFault. */
export async function listPages(
  connection: Connection,
  query: ResourceQuery,
  version: string,
  take: TakeListed,
): Promise<string> {
  const first = await readPage(connection, query, version, { limit: PAGE }, take);
  let next = first.next;
  for (let page = 1; next !== ""; page++) {
    if (page === MOST_PAGES) throw new ApiFault("garbage", `The list has more than ${page} pages`);
    const options = { limit: PAGE, continue: next };
    ({ next } = await readPage(connection, query, version, options, take));
  }
  return first.version;
}

/** Lists the objects of a query once, in the first version that is served. Throws an ApiFault. */
export async function listServed(
  options: ConnectionOptions,
  query: ResourceQuery,
  take: TakeListed,
): Promise<void> {
  const connection = new Connection(options);
  await firstServed(query.versions, (version) => listPages(connection, query, version, take));
}

/** The server's resourceVersion, from a list of one object: without labels, which the server might search for long. */
export async function currentVersion(
  connection: Connection,
  query: ResourceQuery,
  version: string,
): Promise<string> {
  const options = { limit: 1, anyLabel: true };
  return (await readPage(connection, query, version, options, () => {})).version;
}

/** Metadata of a page. */
interface PageEnd {
  readonly version: string;
  /** The `continue` token; empty on the last page. */
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
  const request = { path, silence: SILENCE_MS, compress: true };
  for await (const { bytes, at } of connection.read(request)) {
    for (const item of splitter.push(bytes)) {
      const object = parseJson(item);
      const meta = metaOf(object);
      if (meta === undefined) throw new ApiFault("garbage", "A list item has no valid metadata");
      take(object, meta, at);
      await connection.yieldIfDue();
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
