import { get } from "node:http";

/** Bytes that an answer may have. */
const MOST = 1024 * 1024;
/** Milliseconds that a program on this node may take to answer. */
const TIMEOUT = 2_000;

/** What a program of this node says at a port of 127.0.0.1; undefined if nobody is there, or it is not 200. Never rejects. */
export function loopbackPage(port: number, path: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const request = get({ host: "127.0.0.1", port, path, timeout: TIMEOUT }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MOST) request.destroy();
    });
    response.on("end", () => resolve(response.statusCode === 200 ? text : undefined));
    response.on("close", () => resolve(undefined));
  });
  request.on("timeout", () => request.destroy());
  request.on("error", () => resolve(undefined));
  return promise;
}
