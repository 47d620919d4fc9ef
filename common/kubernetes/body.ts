import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Clock } from "../clock.ts";
import { deadline } from "../deadline.ts";
import { ApiFault, faultOfTransport } from "./api-fault.ts";

/**
 * The decompressed body. `encoding`: its `content-encoding` header. Throws an ApiFault: `unreachable` if the connection
 * breaks, `stalled` after `silence` milliseconds without data, `garbage` if the encoding is invalid.
 */
export async function* decoded(
  body: Readable,
  encoding: string | undefined,
  silence: number,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  if (encoding !== undefined && encoding !== "gzip" && encoding !== "identity") {
    body.destroy();
    throw new ApiFault("garbage", `Unsupported content-encoding ${JSON.stringify(encoding)}`);
  }
  const stream = encoding === "gzip" ? gunzipped(body) : body;
  const late = (): void =>
    void stream.destroy(new ApiFault("stalled", `No data for ${silence / 1000} seconds`));
  let cancel = deadline(clock, silence, late);
  try {
    for await (const chunk of stream) {
      cancel();
      yield chunk;
      cancel = deadline(clock, silence, late);
    }
  } catch (thrown) {
    throw faultOfTransport(thrown);
  } finally {
    cancel();
    body.destroy();
  }
}

function gunzipped(body: Readable): Readable {
  const gunzip = createGunzip();
  body.on("error", (error) => gunzip.destroy(error));
  gunzip.on("close", () => body.destroy());
  return body.pipe(gunzip);
}
