import { ApiFault, reasonOfStatus, retryAfterOf } from "./api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "./api-server.ts";
import { parseJson, textField } from "./json.ts";

/** Bytes of an error's body that are read. */
const MOST_OF_AN_ERROR = 64 * 1024;

/** The body of a successful answer. Throws an ApiFault for any other. */
export async function ask(api: ApiServer, request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
  const response = await api.request(request);
  if (response.status === 200) return response.body;
  const said = await messageOf(response);
  throw new ApiFault(reasonOfStatus(response.status), `HTTP ${response.status}: ${said}`, {
    retryAfter: retryAfterOf(response.header("retry-after")),
  });
}

/** What an error's body says: the message of its Status, or its first words. */
async function messageOf({ body }: ApiResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of body) {
      parts.push(part);
      length += part.length;
      if (length > MOST_OF_AN_ERROR) break;
    }
  } catch {
    // The status has been heard; that its explanation was cut off changes nothing.
  }
  const bytes = Buffer.concat(parts);
  return statusMessage(bytes) ?? bytes.toString("utf8");
}

function statusMessage(bytes: Uint8Array): string | undefined {
  try {
    return textField(parseJson(bytes), "message");
  } catch {
    return undefined;
  }
}
