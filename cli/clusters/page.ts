import { request } from "node:http";
import type { Duplex } from "node:stream";
import { ApiFault, faultOfTransport } from "../../common/kubernetes/api-fault.ts";

/** A page of an agent or a controller. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Bytes of the longest page that is read: the plan of an import with 25,000 endpoints has some 10 MB, `/metrics` less. */
export const MOST_BYTES = 64 * 1024 * 1024;

/** Requests one page over a connection, and closes it. Rejects with an ApiFault, or the reason of the signal. */
export async function readPage(
  connection: Duplex,
  path: string,
  signal: AbortSignal,
): Promise<Page> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Page>();
  const asked = request(
    {
      path,
      signal,
      createConnection: () => connection,
      // Pages on a loopback address are for clients that name it, which a browser's rebound name does not.
      headers: { host: "localhost", connection: "close" },
    },
    (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on("data", (part: Buffer) => {
        parts.push(part);
        length += part.length;
        if (length > MOST_BYTES) response.destroy(new ApiFault("garbage", "The page is too long"));
      });
      response.on("error", (error) => reject(faultOfTransport(error)));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(parts, length).toString("utf8"),
        }),
      );
    },
  );
  asked.on("error", (error) => reject(faultOfTransport(error)));
  // It may have ended before the request began, which would then wait for ever.
  const lost = (): void =>
    reject(faultOfTransport(connection.errored ?? new Error("Connection closed")));
  if (connection.destroyed) lost();
  else connection.once("close", lost);
  asked.end();
  try {
    return await promise;
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  } finally {
    connection.destroy();
  }
}
