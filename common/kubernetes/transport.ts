import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ApiFault, type FaultReason } from "./api-fault.ts";

/** A body as it was before it was compressed. Throws an ApiFault where it breaks off, falls silent, or is none. */
export async function* decoded(
  body: Readable,
  encoding: string | undefined,
): AsyncGenerator<Uint8Array> {
  if (encoding !== undefined && encoding !== "gzip" && encoding !== "identity") {
    body.destroy();
    throw new ApiFault("garbage", `The answer is encoded as ${JSON.stringify(encoding)}`);
  }
  const stream = encoding === "gzip" ? gunzipped(body) : body;
  try {
    for await (const chunk of stream) yield chunk;
  } catch (thrown) {
    throw faultOfTransport(thrown);
  } finally {
    body.destroy();
  }
}

function gunzipped(body: Readable): Readable {
  const gunzip = createGunzip();
  body.on("error", (error) => gunzip.destroy(error));
  gunzip.on("close", () => body.destroy());
  return body.pipe(gunzip);
}

/** What an error of HTTP, TLS or TCP means. */
export function faultOfTransport(thrown: unknown): ApiFault {
  if (thrown instanceof ApiFault) return thrown;
  const { code, message } = wordsOf(thrown);
  return new ApiFault(reasonOfCode(code), message === "" ? code : message, { cause: thrown });
}

function reasonOfCode(code: string): FaultReason {
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") return "stalled";
  // What came was no HTTP, or not compressed as it said.
  const garbage = /^(HPE_|Z_|UND_ERR_HEADERS_OVERFLOW$)/;
  // The stream was only cut short.
  if (garbage.test(code) && code !== "Z_BUF_ERROR") return "garbage";
  return "unreachable";
}

/** Node tries all addresses of a name and throws one error without words for all failures. */
function wordsOf(thrown: unknown): { readonly code: string; readonly message: string } {
  if (thrown instanceof AggregateError && thrown.message === "") return wordsOf(thrown.errors[0]);
  if (!(thrown instanceof Error)) return { code: "", message: String(thrown) };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
  return { code, message: thrown.message };
}
