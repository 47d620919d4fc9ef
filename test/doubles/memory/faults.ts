import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ByteStream } from "../byte-stream.ts";

/** The fault of one request. */
export type RequestFault =
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string }
  /** The connection is refused, or reset before an answer. */
  | { readonly kind: "refused" }
  /** The connection is accepted, and no answer follows. */
  | { readonly kind: "silent" }
  /** Success, with a body of this text. */
  | { readonly kind: "body"; readonly text: string }
  | Half;

/** Success, and the body ends after so many bytes: closed as if it were whole, or reset. */
interface Half {
  readonly kind: "half";
  readonly bytes: number;
  readonly clean: boolean;
}

/** How running watches end, or what they receive. */
export type WatchFault =
  | "close"
  | "reset"
  | "freeze"
  | "garbage"
  | "expired"
  | "half-line"
  | "repeat";

/** How the server treats a watch that is to begin with all objects. */
export type InitialEvents = "sent" | "refused" | "failed" | "ignored";

/** Copies the first bytes of a body. */
export async function forward(from: ByteStream, to: ByteStream, half: Half): Promise<void> {
  let left = half.bytes;
  try {
    for await (const chunk of from) {
      to.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) break;
    }
    if (half.clean) to.end();
    else to.fail(new ApiFault("unreachable", "Reset"));
  } catch (error) {
    to.fail(error);
  }
}
