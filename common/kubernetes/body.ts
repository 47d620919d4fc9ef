import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Clock } from "../clock.ts";
import { deadline } from "../deadline.ts";
import { ApiFault } from "./api-fault.ts";
import { faultOfTransport } from "./transport.ts";

/** How a body is to be read. */
export interface BodyOptions {
  /** Its `content-encoding`. */
  readonly encoding: string | undefined;
  /** Milliseconds that it may say nothing for while somebody waits for it. */
  readonly silence: number;
  readonly clock: Clock;
}

/**
 * A body as it was before it was compressed. Throws an ApiFault: `unreachable` where it breaks off, `stalled` where
 * it falls silent, `garbage` where it is not what it says.
 */
export async function* decoded(body: Readable, options: BodyOptions): AsyncGenerator<Uint8Array> {
  const { encoding = "identity", silence, clock } = options;
  if (encoding !== "gzip" && encoding !== "identity") {
    body.destroy();
    throw new ApiFault("garbage", `An answer that is encoded as ${JSON.stringify(encoding)}`);
  }
  const stream = encoding === "gzip" ? gunzipped(body) : body;
  const late = (): void =>
    void stream.destroy(new ApiFault("stalled", `Silence for ${silence / 1000} seconds`));
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
